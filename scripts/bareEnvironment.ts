// Imported by every configuration of the tests, before their processes start: the keys, servers, models and proxies of a shell
// would decide which tests pass.
const { env } = process
const ofProviders = /_(API_KEY|BASE_URL)$|^(AWS|AZURE|GOOGLE|GEMINI|OLLAMA|VERTEX)_/
const ofStatewire = /^STATEWIRE_(API_KEY|HISTORY|INSPECT|MODEL)$/
const ofProxies = /^(HTTPS?|NO|ALL)_PROXY$/i

// Tests that fetch packages still need the proxy: npm has its own variables for it.
const proxy = env.https_proxy ?? env.HTTPS_PROXY
if (proxy) env.npm_config_https_proxy ??= proxy

for (const name of Object.keys(env))
  if (ofProviders.test(name) || ofStatewire.test(name) || ofProxies.test(name)) delete env[name]
