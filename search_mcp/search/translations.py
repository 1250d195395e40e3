"""Common words of requests to software in other languages: data, and nothing else.

Written without regard to any catalogue, like the thesaurus. Each line is an English word and what says it. What English
writes alike but for accents or endings ("vidéo", "exécuter") needs no line. Lines that begin with # are headings.
"""

# Japanese, Chinese, Korean; found within longer text.
WITHOUT_SPACES = """
# what is done
get 取得 获取 獲取 取出 가져 얻
read 読 读 讀 阅读 閱讀 읽
write 書 写 寫 编写 撰写 쓰기 써줘 작성
list 一覧 リスト 列出 列表 清单 清單 列举 목록 리스트
show 表示 見せ 显示 顯示 展示 查看 看看 보여 표시 보기
search 検索 搜索 搜尋 查询 查詢 검색 조회
find 探 見つけ 查找 找 寻找 尋找 찾
create 作成 作る 作って 作り 新規 创建 創建 新建 建立 制作 만들 생성 작성
generate 生成 생성
add 追加 添加 新增 增加 加入 추가
update 更新 업데이트 갱신
edit 編集 編輯 编辑 修改 改 편집 수정
change 変更 変え 更改 变更 變更 변경 바꾸 바꿔
delete 削除 消 删除 刪除 删掉 移除 삭제 지우 지워 제거
send 送 发送 發送 发给 寄 보내 전송
save 保存 存 储存 저장
open 開 打开 打開 열기 열어
close 閉 关闭 關閉 닫
move 移動 移动 이동 옮
copy 複製 コピー 复制 拷贝 복사
rename 名前を変 名前変更 リネーム 重命名 改名
download ダウンロード 下载 下載 다운로드 다운받
upload アップロード 上传 上傳 업로드
load 読み込 ロード 加载 載入 불러오
convert 変換 转换 轉換 转成 转为 변환
translate 翻訳 翻译 翻譯 번역
summarize 要約 总结 總結 摘要 概括 요약
compare 比較 比べ 比较 对比 對比 비교
analyze 分析 解析 분석
calculate 計算 计算 계산
count 数え 件数 计数 數量 数量 개수 몇개
run 実行 执行 執行 运行 運行 실행
start 開始 起動 开始 启动 啟動 시작
stop 停止 止め 중지 정지 멈추
restart 再起動 重启 重啟 재시작
check 確認 チェック 检查 檢查 确认 核对 확인 점검
install インストール 安装 安裝 설치
share 共有 分享 共享 공유
reply 返信 返事 回复 回覆 답장
reserve 予約 预订 預訂 预约 订 예약
buy 買 購入 购买 購買 买 구매 사줘
pay 支払 付款 支付 결제 지불
play 再生 流して 播放 재생 틀어
draw 描 绘制 繪製 画 畫 그려 그리기
explain 説明 解释 解釋 说明 설명
click クリック 点击 點擊 클릭
extract 抽出 提取 추출
merge 結合 統合 合并 合併 병합 합치
replace 置換 置き換え 替换 替換 교체 대체
plan 計画 计划 計劃 规划 계획
schedule 予定 スケジュール 日程 安排 일정
remember 覚え 記憶 记住 記住 기억
recommend おすすめ 推薦 推荐 추천
# what it is done to
file ファイル 文件 檔案 파일
folder フォルダ 文件夹 資料夾 폴더
directory ディレクトリ 目录 目錄 디렉터리 디렉토리
document 文書 書類 ドキュメント 文档 文檔 문서
text テキスト 文本 文字 텍스트
content 内容 中身 內容 내용
image 画像 图片 圖片 图像 이미지 그림
photo 写真 照片 사진
video 動画 ビデオ 视频 影片 동영상 비디오
music 音楽 音乐 音樂 음악
song 曲を 歌 歌曲 노래
audio 音声 オーディオ 音频 오디오 음성
message メッセージ 消息 訊息 메시지 메세지
email メール 邮件 郵件 邮箱 이메일 메일
calendar カレンダー 日历 日曆 달력 캘린더
event イベント 予定 活动 活動 이벤트 행사
meeting 会議 打ち合わせ 会议 會議 회의 미팅
time 時間 時刻 何時 时间 几点 시간 몇시
date 日付 日期 날짜
today 今日 今天 오늘
current 現在 今の 何時 几点 当前 目前 现在 현재 지금 몇시
weather 天気 天气 天氣 날씨
temperature 気温 温度 溫度 기온 온도
database データベース 数据库 資料庫 데이터베이스
data データ 数据 資料 데이터 자료
table テーブル 表格 数据表 테이블
user ユーザ 利用者 用户 用戶 사용자 유저
account アカウント 口座 账户 账号 帳號 계정 계좌
password パスワード 密码 密碼 비밀번호
project プロジェクト 项目 專案 프로젝트
task タスク 任务 任務 작업 할일
issue 課題 问题 問題 이슈 문제
comment コメント 评论 評論 댓글 코멘트
page ページ 页面 頁面 页 페이지
website サイト 网站 網站 웹사이트 사이트
link リンク 链接 鏈接 링크
browser ブラウザ 浏览器 瀏覽器 브라우저
button ボタン 按钮 按鈕 버튼
screenshot スクリーンショット スクショ 截图 截圖 截屏 스크린샷
report レポート 報告 报告 보고서 리포트
chart グラフ チャート 图表 圖表 차트 그래프
map 地図 地图 地圖 지도
location 場所 位置 地点 위치 장소
address 住所 地址 주소
route 経路 ルート 路线 路線 경로
price 価格 値段 价格 價格 가격
order 注文 订单 訂單 주문
product 商品 製品 产品 產品 상품 제품
customer 顧客 取引先 客户 客戶 고객 거래처
company 会社 企業 公司 企业 회사 기업
invoice 請求書 发票 發票 청구서
currency 通貨 為替 货币 汇率 통화 환율
stock 株価 株式 株 股票 股价 주식 주가
news ニュース 新闻 新聞 뉴스
history 履歴 歴史 历史 歷史 기록 역사 이력
note メモ ノート 笔记 筆記 메모 노트
contact 連絡先 联系人 聯絡人 연락처
phone 電話 电话 手机 전화
code コード 代码 程式碼 코드
repository リポジトリ 仓库 代码库 저장소 리포지토리
branch ブランチ 分支 브랜치
version バージョン 版本 버전
package パッケージ 软件包 套件 패키지
server サーバ 服务器 伺服器 서버
log ログ 日志 日誌 로그
error エラー 错误 錯誤 오류 에러
status 状態 状況 状态 狀態 상태
settings 設定 设置 設置 설정
group グループ 群组 群組 그룹
team チーム 团队 團隊 팀
channel チャンネル 频道 頻道 채널
category カテゴリ 类别 分类 分類 카테고리 분류
name 名前 名称 名字 이름 명칭
size サイズ 大きさ 大小 크기
number 番号 号码 數字 数字 번호 숫자
slide スライド 幻灯片 投影片 슬라이드
presentation プレゼン 演示文稿 简报 발표 프레젠테이션
spreadsheet スプレッドシート 表計算 电子表格 試算表 스프레드시트
train 列車 電車 火车 火車 기차 열차
flight 航空券 フライト 航班 机票 항공편 항공권
hotel ホテル 酒店 宾馆 호텔
restaurant レストラン 餐厅 餐廳 식당 음식점 레스토랑
recipe レシピ 菜谱 食谱 레시피
trip 旅行 旅程 行程 旅游 여행
book 本を 書籍 书籍 图书 책 도서
movie 映画 电影 電影 영화
game ゲーム 游戏 遊戲 게임
article 記事 文章 기사
paper 論文 论文 논문
law 法律 法令 法规 법률 법령
tax 税 稅 세금
health 健康 건강
language 言語 语言 語言 언어
word 単語 单词 單詞 단어
city 都市 城市 도시
country 国 國家 나라 국가
nearby 近く 周辺 附近 周边 근처 주변
latest 最新 最近 최신 최근
all すべて 全て 全部 所有 모든 전부 전체
"""

# German, Spanish, French, Portuguese, Russian; what ends in - is a beginning: schreib- is also schreiben and schreibt.
WITH_SPACES = """
# what is done
get abrufen holen erhalten bekommen obtener obtén conseguir récupér- obtenir obter получ-
read lesen lies leer lee lire lis ler leia прочит- прочес- чита-
write schreib- escrib- écrire écris escrev- запис- напис- пиши-
list auflisten listar перечисл- список списк-
show zeige zeigen anzeig- mostrar muestra affich- montre exibir mostre покаж- показ- отобраз-
search suchen durchsuch- buscar busca búsqueda consultar cherche- recherche- pesquis- procurar поиск- искать поищ-
find finden encontrar encuentra trouve- encontre найти найд-
create erstell- anlegen crear crea créer crée criar crie созда-
generate generier- erzeug- generar générer génère gerar gere сгенер- генер-
add hinzufüg- ergänz- añadir añade agregar ajoute- adicion- добав-
update aktualisier- actualiz- actualis- mettre atualiz- обнов-
edit bearbeit- editar modificar редакт- исправ-
change änder- ändre cambiar cambia alterar mudar измен- поменя-
delete lösch- entfern- borrar borra eliminar elimina supprim- efface- apagar excluir удал- стереть
send senden schick- enviar envía envoyer envoie envie отправ- послать
save speicher- guardar guarda enregistr- sauvegard- salvar сохран-
open öffne- abrir abre ouvrir ouvre открой откры-
close schließ- cerrar cierra fermer ferme fechar закрой закры-
move verschieb- bewege mover mueve déplac- перемест-
copy kopier- copiar copia скопир- копир-
rename umbenenn- renombr- renomm- переимен-
download herunterlad- runterlad- descarg- télécharg- baixar baixe скача-
upload hochlad- subir téléverser carregar выгруз- загруз-
load lade laden cargar carregar загруз-
convert umwandel- konvertier- convertir преобраз- конверт-
translate übersetz- traducir traduce traduction traduire traduis traduzir traduza перевед- перевест- перевод-
summarize zusammenfass- resumir resumen resumo резюм- обобщ-
compare vergleich- comparar compara сравн-
analyze analysieren analizar análisis analyser analisar análise анализ-
calculate berechn- rechne calcular calculer вычисл- рассчит- посчита-
count zählen anzahl contar cuántos cuántas compter combien quantos quantas сколько количеств-
run ausführ- ejecuta- executar запуст- выполн-
start starten inicia- empezar démarr- commenc- começar начать начн-
stop stoppe- anhalten beenden detener parar arrêt- останов-
restart neustart- reiniciar redémarr- перезапус- перезагруз-
check prüfe- überprüf- comprobar comprueba verificar провер-
install installier- instalar instala установ-
share teile teilen compartir comparte partag- compartilh- подели-
reply antworte- répond- ответ-
reserve buchen buche reservar заброн-
buy kaufen kaufe comprar compra acheter achète купи-
pay bezahl- zahlen pagar paga payer paiement оплат-
play abspiel- spiele reproducir jouer tocar воспроизв-
draw zeichn- dibuj- dessin- desenh- нарис-
explain erklär- explicar explica explique- объясн-
click klick- clicar clique- нажать нажм-
extract extrahier- extraer extraire extrair извлеч-
merge zusammenführ- combinar fusionar fusionner mesclar объедин-
replace ersetz- reemplaz- remplac- substituir замен-
plan planen planificar planifier planej- заплан- спланир-
schedule terminplan- programar agendar расписан-
remember merke erinner- recordar recuerda souvenir retenir lembrar запомн-
recommend empfehl- empfiehl recomendar recommander порекоменд-
# what it is done to
file datei- archivo fichero fichier arquivo ficheiro файл-
folder ordner- carpeta dossier pasta папк-
directory verzeichnis- directorio répertoire diretório каталог-
document dokument- documento документ-
text texto текст-
content inhalt- contenido contenu conteúdo содерж-
image bilder imagen imágenes imagem imagens изображ- картин-
photo fotos fotografía foto фото
video видео
music musik música musique музык-
song canción chanson песн-
audio аудио-
message nachricht- mensaje mensagem mensagens сообщен-
email correo courriel почт- письм-
calendar kalender- calendario calendrier calendário календар-
event veranstaltung- evento événement событи-
meeting besprechung- reunión réunion reunião встреч- совещан-
time uhrzeit- zeit hora tiempo heure tempo время времен-
date datum fecha дата даты
today heute aujourd hoje сегодня
current aktuell- jetzt actual ahora actuel maintenant atual agora текущ- сейчас
weather wetter- clima météo погод-
temperature temperatura температур-
database datenbank-
data daten datos données dados данны-
table tabelle- tabla tableau tabela таблиц-
user benutzer- nutzer usuario utilisateur usuário utilizador пользоват-
account konto cuenta compte conta аккаунт-
password passwort- kennwort contraseña senha парол-
project projekt- proyecto projet projeto проект-
task aufgabe- tarea tâche tarefa задач-
issue incidencia проблем-
comment kommentar- comentario commentaire comentário коммент-
page seite seiten página страниц-
website webseite- sitio сайт-
link enlace lien ссылк-
browser navegador navigateur браузер-
button schaltfläche- knopf botón bouton botão кнопк-
screenshot bildschirmfoto- captura скриншот-
report bericht- informe rapport relatório отчет-
chart diagramm- gráfico gráfica graphique diagramme график- диаграм-
map karte karten mapa карта карту
location standort- ubicación lugar emplacement lieu место местополож-
address adresse- dirección endereço адрес-
route strecke ruta itinéraire rota маршрут-
price preis- precio prix preço цена цены цену
order bestell- pedido encomenda заказ-
product produkt- producto produit produto товар- продукт-
customer kunde kunden клиент-
company firma unternehmen- empresa entreprise компани-
invoice rechnung- factura facture fatura
currency währung- wechselkurs- divisa devise moneda moeda câmbio валют-
stock aktie- acciones bourse ações акци-
news nachrichten noticia actualité nouvelles notícia новост-
history verlauf- geschichte- historial historia historique histoire histórico истори-
note notiz- nota заметк-
contact kontakt- contacto contato контакт-
phone telefon- teléfono телефон-
code quellcode código
repository repositorio dépôt repositório репозитор-
branch zweig rama ветка ветки ветку
version versão верси-
package paket- paquete paquet pacote пакет-
server servidor serveur сервер-
log protokoll- registro журнал- логи
error fehler- erreur erro ошибк-
status zustand- estado état статус- состояни-
settings einstellung- ajustes configuración paramètres réglage configuração настройк-
group gruppe- grupo групп-
team mannschaft- equipo équipe команд-
channel kanal canal chaîne канал-
category kategorie- categoría категор-
name nombre nome назван-
size größe- tamaño taille tamanho размер-
number nummer- número numéro номер- числ-
slide folie folien diapositiv- слайд-
presentation präsentation- presentación apresentação презентац-
spreadsheet tabellenkalkulation planilha
train zug züge tren поезд-
flight flüge vuelo рейс-
hotel отел- гостиниц-
restaurant ресторан-
recipe rezept- receta recette receita рецепт-
trip reise reisen viaje voyage viagem поездк- путешеств-
book bücher libro livre livro книг-
movie película фильм-
game spiel juego игра игры
article artikel- artículo artigo стать-
paper научн-
law gesetz- закон-
tax steuer- impuesto impôt imposto налог-
health gesundheit- salud santé saúde здоров-
language sprache- idioma langue língua язык-
word wörter palabra palavra слово слова
city stadt ciudad ville cidade город-
country país страна страны
nearby nähe cerca proximité perto рядом поблизост-
latest neueste- último dernier- dernière последн-
all todas tous toutes все
"""
