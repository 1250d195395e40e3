"""A small thesaurus of what tools do and what they do it to: data, and nothing else.

General English, written without regard to any catalogue. Each line is a group of words that people use for one
another in requests to software; a word may stand in several groups, and every word of a group suggests every other.
Words are written in full; the reader stems them. Lines that begin with # are headings.
"""

GROUPS = """
# what is done
get fetch retrieve read obtain load pull
get show view display see
list show enumerate browse
list all every
find search lookup query locate discover seek
search explore browse
create make new add generate build
add insert append attach include
create generate produce compose write
write save store put
create open start begin initiate
schedule book reserve plan arrange appointment
update edit modify change alter revise adjust
edit replace rewrite substitute
set configure assign change
settings configuration preferences options config
delete remove erase drop clear destroy discard
remove unlink detach uninstall
clean clear purge wipe
cancel abort stop revoke
stop end terminate kill halt shutdown quit exit
start launch run begin boot
run execute invoke perform
restart reboot reload reset
enable activate
disable deactivate
pause suspend
resume continue
send post submit deliver transmit dispatch
send email mail
message chat text dm
reply respond answer
publish post release
share invite grant
notify alert notification remind reminder
receive get accept
move transfer relocate migrate
rename retitle
copy duplicate clone replicate
convert transform translate change turn
translate translation language
export download save
import upload load
upload attach
download fetch save
merge combine join concatenate unite
split divide separate cut
compare diff difference contrast versus comparison
change diff
change status
sort order rank arrange
filter narrow select
select choose pick
count number total quantity
calculate compute evaluate calculation calculator
math mathematics arithmetic calculate
sum add plus total
subtract minus difference
multiply times product
divide quotient
round floor ceil
average mean
# numbers and judgements
statistics stats metrics analytics
analyze analysis examine inspect study
check verify validate test
verify confirm authenticate
check inspect status
status state health condition
monitor watch track observe follow
track trace
describe explain detail
details info information metadata data properties
summarize summary overview abstract digest brief
summary recap highlights
extract parse scrape pull
scrape crawl
parse decode
encode encrypt
decrypt decode
compress zip archive pack
decompress unzip extract unpack
predict forecast estimate projection
forecast weather
weather climate temperature rain
recommend suggest propose advise recommendation suggestion
recommendation advice tips
generate random
draw sketch paint illustrate
draw plot chart graph diagram visualize
chart graph plot visualization
diagram flowchart
render draw display
play listen stream
record capture
capture screenshot snapshot
screenshot image
buy purchase order acquire
sell trade
trade exchange
pay payment checkout
price cost fee rate quote
cheap affordable budget low
expense spending cost
invoice bill receipt
invoice billing
payment transaction
transfer send
refund return
subscribe subscription follow
unsubscribe unfollow
# people, accounts, organizations
login signin authenticate authentication
logout signout
register signup enroll
account profile user
user member person people
person people human individual
contact person address
employee staff worker
customer client buyer
team group organization
group channel
company business firm corporation enterprise organization
company ticker
friend contact
author writer creator
owner holder
# files, media, text
file document
file path
document doc paper report
folder directory dir
path location
path route
image picture photo photograph pic
video clip movie film footage
movie film cinema
show series tv
audio sound music voice
music song track tune
song lyrics
artist singer musician band
album record
podcast episode
voice speech speak
speech tts
transcribe transcript transcription subtitles captions
picture illustration artwork
art artwork painting
logo icon
color colour
font typeface
text string content
content contents body
contents text
word term
dictionary definition meaning vocabulary
define definition meaning
spelling grammar
synonym thesaurus
note memo
note notes memory
memory remember recall
remember store memorize
remember save
remember add
remember create
memorize add save
forget delete remove
knowledge memory facts
# work, code, machines
task todo issue
todo reminder task
issue bug ticket problem
bug defect error
error failure exception fault
debug troubleshoot diagnose
fix repair correct resolve
solve resolve
close resolve complete finish
complete finish done
approve accept
reject decline deny
project repository
repository repo
commit revision changeset
branch fork
pull merge
version release revision
deploy release publish
deployment rollout
build compile
install setup add
package library dependency module
code source program script
code snippet
programming coding
function method
command shell terminal bash
terminal console
process task job
job position career employment vacancy
hire recruit
resume cv
salary wage pay income
log logs history
history past historical previous
historical history archive
# time and place
event meeting appointment
event calendar
calendar schedule agenda
concert show event
ticket booking
date day
time clock hour
timezone time
today current now
current now latest present
latest recent new newest
recent last
upcoming future next
timer alarm countdown
duration length
deadline due
location place position where
location address coordinates
coordinates latitude longitude gps
place venue
nearby near around close
map location geographic
geocode coordinates
directions route navigation navigate
route itinerary
distance far
travel trip journey vacation holiday
trip itinerary tour
flight airline plane
airplane aircraft plane
hotel accommodation lodging stay
hotel room
airport flight
train rail railway
bus transit
car vehicle automobile auto
drive car
parking carpark
ship vessel boat
# daily life
restaurant food dining
food meal recipe dish
recipe cooking cook
meal diet nutrition
nutrition calories
drink beverage cocktail
grocery supermarket
shop store
shopping shop product
product item goods
discount coupon deal promotion
offer deal
gift present
review rating feedback
rating score
score points
comment review
feedback comment
like favorite
popular trending trend hot top
top best
news headlines article articles
article post
article paper
blog post
paper publication research
research study
academic scholarly scientific
book novel literature
read book
story tale
quote saying
joke funny humor
fun entertainment
game gaming play
player gamer
match game
sport sports
team club
league tournament championship
standings ranking leaderboard
lottery lotto
horoscope zodiac astrology
astrology tarot
pet animal
dog puppy
cat kitten
plant garden
health medical
medical clinical
doctor physician
hospital clinic
drug medicine medication
disease illness condition
symptom diagnosis
patient medical
exercise workout fitness training
gene genetic variant
chemical compound molecule
protein gene
law legal
lawyer attorney
court case
patent invention
government public
tax taxes
# money and trade
money cash currency
currency forex exchange
crypto cryptocurrency bitcoin coin
bitcoin btc
ethereum eth
token coin
blockchain crypto
nft token
wallet balance
balance account
bank banking
loan mortgage
invest investment investing
stock share equity
stocks market
portfolio holdings
dividend earnings
finance financial
financials income
earnings revenue income profit
revenue sales
growth increase
loan credit
insurance coverage
real estate property
property house home
house home apartment
rent rental lease
school university college
student pupil
teacher instructor
course class lesson
learn study education
education learning
exam test quiz
question ask query
answer question
chat conversation
conversation discussion
assistant bot
ai llm model
prompt instruction
image generate
# the web and data
web website site internet online
website page webpage
page url
url link
link hyperlink
browser web
navigate visit open
open launch
click press tap
type enter fill
fill form
scroll swipe
domain hostname
dns domain
ip address
network internet
server host
server instance
port socket
ping latency
speed performance
device hardware
phone mobile telephone
phone number
sms text
email mail inbox
email message
attachment file
database db
database sql
query sql
table sheet
spreadsheet excel sheet workbook
row record entry
column field
cell range
dataset data
data records
schema structure
key value
index catalog
presentation slides slide powerpoint deck
slide page
word doc docx document
pdf document
markdown md
template layout
form survey questionnaire
survey poll vote
csv table
format style
json data
xml data
html web
api endpoint
endpoint url
token key
key credential
password secret
secret credential
# safety and systems
security vulnerability
vulnerability cve exploit
attack threat
threat risk
permission access role
permissions rights
encrypt cipher
hash checksum digest
virus malware
backup snapshot archive
restore recover
undo revert rollback
undo reset
revert reset restore
save backup
cloud storage
storage disk
container docker
cluster node
pod container
virtual vm machine
machine instance
resource asset
# kinds, qualities, nature
label tag
tag category
category type kind
type class
topic subject theme
subject title
title name heading
name identifier
id identifier
size length dimensions
size resize
resize scale
crop trim cut
rotate turn
width height
weight mass
unit measurement
measure measurement
temperature heat
energy power electricity
light lamp
sensor reading
camera photo
picture camera
satellite space
space astronomy
planet star
earthquake seismic
country nation
city town
state province region
region area
area zone
population demographics
language locale
birthday birth
age old
gender sex
name person
family relative
wedding marriage
dating relationship
social network
tweet twitter
follower subscriber
influencer creator
youtube video
instagram photo
campaign advertising marketing
ad advertisement ads
marketing promotion
seo keywords
keyword term
lead prospect
contract agreement
sign signature
proposal offer
goal objective target
strategy plan
workflow automation pipeline
automate automation
trigger event
rule policy
policy regulation
environment variable
variable parameter
parameter argument
option choice
choice decision
decide decision
idea brainstorm
think reasoning reason
thought thinking
similar related alike
related associated
different difference
random arbitrary
multiple several many batch bulk
bulk batch mass
single one
entire whole full complete
part section portion
section chapter
first initial
last final
large big
small little tiny
fast quick
free available
available availability vacant
empty blank
valid correct
invalid wrong
private secret
public open
local nearby
global world international
world worldwide
# more things done
improve optimize enhance
reduce decrease lower shrink
increase raise grow
detect identify recognize spot
recognize recognition ocr
assign delegate allocate
sync synchronize refresh
toggle switch
archive trash bin
draft compose
annotate highlight mark
proof evidence
motion movement
percentage percent ratio share
daily day
weekly week
monthly month
yearly annual year
quarterly quarter
inventory stock
competitor rival competition
child children kid kids
anime manga cartoon
comic cartoon manga
gas fee
wait sleep delay
mouse cursor pointer
keyboard press
tab window page
screen display monitor
cookie session
proxy vpn
certificate ssl tls
env environment
msg message
auth authentication authorization login
admin administrator
app application
apps software
pr pull
mr merge
cpu processor
ram memory
k8s kubernetes
js javascript
ts typescript
py python
postgres postgresql
qr barcode
lat latitude
lon lng longitude
tz timezone
temp temperature
temp temporary
os system
# more of daily life
eat restaurant dining
wear clothes clothing outfit fashion
makeup beauty cosmetics
furniture decor interior
tutor teacher tutoring
vacancy opening job
party event celebration
guest visitor
beer wine drink
storm hurricane cyclone
pollution air quality
carbon emissions footprint
fuel gasoline petrol
traffic congestion
subway metro underground
taxi cab ride
visa passport
attraction sightseeing landmark tourist
museum gallery exhibition
hiking trail hike
bible scripture verse
meditation mindfulness relax
vitamin supplement nutrition
therapy counseling mental psychology
essay paper writing
proofread grammar
paraphrase rephrase rewrite
headline title
slogan tagline
letter mail
interview candidate
homework assignment
equation formula expression
dna genome gene sequence
sickness illness disease
treatment therapy cure
# society
crime criminal
police law
vote election
election political politics
president politician government
war military
charity donation nonprofit
volunteer charity
safety security
accident incident
incident outage
uptime availability status
load traffic
limit quota
queue backlog
roadmap plan milestone
sprint iteration
meeting conference call
call phone dial
call invoke
room meeting
chatroom room channel
avatar picture profile
emoji sticker
meme funny
gif animation
animate animation
edit video
thumbnail image
background wallpaper
filter effect
palette color
3d model
architecture design
design ui layout
prototype mockup wireframe
icon symbol
stock ticker symbol
option derivative
interest rate
inflation economy economic
economy gdp
mortgage house
budget expense
accounting bookkeeping ledger
ledger journal
audit log
compliance regulation
# goods
shipment shipping delivery parcel package
delivery courier shipping
warehouse inventory
supplier vendor
manufacturer brand
brand company
seller merchant vendor
cart basket
bid auction
sponsor advertiser
visitor traffic
click visit
subscribe newsletter
blog article
forum thread discussion
community forum group
moderator admin
ban block
block mute
report complaint
complaint issue
support help
helpdesk support ticket
faq question
manual guide documentation
documentation docs reference
tutorial guide lesson
sample example
list items
outline structure
tree hierarchy structure
parent child
node element
element item
property attribute
relation relationship link
graph network
connect connection link
disconnect detach
mount attach
login access
upgrade update
downgrade rollback
migrate migration
schema migration
seed random
dice roll
coin flip
toss flip
guess predict
puzzle riddle
chess game
score result
# games and sports
result outcome
race driver
fixture match schedule
squad team roster
athlete player
coach trainer
gym workout
heart pulse
sleep rest
steps walking
walk walking
bike bicycle cycling
run running
weather wind
sun sunrise sunset
moon lunar
tide sea ocean
ocean sea marine
river lake water
mountain hill
forest tree
# nature and machines
farm agriculture crop
crop plant
soil land
animal species
bird wildlife
fish fishing
insect bug
mine mining
oil petroleum
solar sun
battery charge
charge charging
engine motor
part component
component module
machine equipment
tool instrument
robot automation
drone uav
print printer
scan scanner
fax print
"""
