// A protected server with the certified authorization server oidc-provider, whose user agrees at once:
// `node oidc_server.mjs MODULE PORT [FORMAT]`. It rotates refresh tokens, and revokes all tokens if a spent one comes
// back. FORMAT is that of its access tokens: `opaque`, or `jwt`, which another server can check.
import http from 'node:http';

const { Provider } = await import(process.argv[2]);
const port = Number(process.argv[3]);
const accessTokenFormat = process.argv[4] ?? 'opaque';
const issuer = `http://127.0.0.1:${port}`;
const known = '/.well-known/oauth-protected-resource';

const provider = new Provider(issuer, {
  features: {
    registration: { enabled: true },
    revocation: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: 'read write', accessTokenTTL: 300, accessTokenFormat }),
    },
  },
  scopes: ['openid', 'offline_access'],
  rotateRefreshToken: true,
  pkce: { required: () => true },
  interactions: { url: (_context, interaction) => `/agree/${interaction.uid}` },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
});

async function agree(request, response) {
  const { prompt, params, grantId } = await provider.interactionDetails(request, response);
  let result = { login: { accountId: 'user' } };
  if (prompt.name !== 'login') {
    const { Grant } = provider;
    const grant = grantId ? await Grant.find(grantId) : new Grant({ accountId: 'user', clientId: params.client_id });
    if (prompt.details.missingOIDCScope) grant.addOIDCScope(prompt.details.missingOIDCScope.join(' '));
    for (const [resource, scopes] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
      grant.addResourceScope(resource, scopes.join(' '));
    }
    result = { consent: { grantId: await grant.save() } };
  }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}

async function call(request, response) {
  const token = (request.headers.authorization ?? '').replace('Bearer ', '');
  if (!(token && await provider.AccessToken.find(token))) {
    response.statusCode = 401;
    response.setHeader('WWW-Authenticate', `Bearer resource_metadata="${issuer}${known}/mcp"`);
  }
  response.end('{}');
}

const others = provider.callback();
http.createServer((request, response) => {
  if (request.url.startsWith('/agree/')) agree(request, response);
  else if (request.url === '/mcp') call(request, response);
  else if (request.url.startsWith(known)) {
    response.end(JSON.stringify({
      resource: `${issuer}/mcp`, authorization_servers: [issuer], scopes_supported: ['read'],
    }));
  } else others(request, response);
}).listen(port, '127.0.0.1', () => console.log('ready'));
