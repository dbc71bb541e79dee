import type { Site } from './document.js'

/** What a key that other gateways and SDKs have is called here. */
interface OwnWord {
  readonly hint: string
  /** The key of ours, where it is in the same place. */
  readonly meant?: string
}

const SECRET: OwnWord = { hint: 'name the secret, do not write it here: secret: { env: NAME }', meant: 'secret' }
const PLACE: OwnWord = { hint: 'write under secret where to find it: secret: { env: NAME }', meant: 'secret' }
const BASE: OwnWord = { hint: 'the address of an upstream is its base', meant: 'base' }
const KIND: OwnWord = { hint: 'write the kind of the upstream', meant: 'kind' }
const UPSTREAM: OwnWord = { hint: 'the name of the upstream that serves the model', meant: 'upstream' }
const UPSTREAMS: OwnWord = { hint: 'providers are upstreams, by name', meant: 'upstreams' }
const MODELS: OwnWord = {
  hint: 'models are declared at the top level of the file, each with its upstream: models: { NAME: UPSTREAM }',
}
const KEYS: OwnWord = {
  hint: 'callers are declared under keys, by name: keys: { me: { secret: { env: GATEWAY_KEY } } }',
  meant: 'keys',
}
const AS: OwnWord = { hint: 'write the upstream\'s name for the model as "as"', meant: 'as' }
const FALLBACKS: OwnWord = { hint: 'fallbacks are a list of targets: models: { NAME: [FIRST, SECOND] }' }
const DEFAULTS: OwnWord = {
  hint: "change requests: request: [{ default: { temperature: 0.2 } }] (set overwrites the client's value)",
}
const SETTINGS: OwnWord = { hint: 'use limits, timeouts and retry' }
const LOG_FILE: OwnWord = { hint: 'where lines go: log: { to: { file: PATH } }', meant: 'to' }
const LISTEN: OwnWord = { hint: 'where the gateway listens: listen: { host: 127.0.0.1, port: 8080 }', meant: 'listen' }
const ELSEWHERE = 'in upstreams: { NAME: { kind: KIND, secret: { env: NAME }, base: https://… } }'
const HOLDERS = 'of a key, a group, a model or an upstream'
const REQUESTS: OwnWord = { hint: `requests in a window are a limit ${HOLDERS}: limits: { requests: 60/min }` }
const TOKENS: OwnWord = { hint: `tokens in a window are a limit ${HOLDERS}: limits: { tokens: 100k/min }` }
const BUDGETS: OwnWord = { hint: `a budget is a limit ${HOLDERS}: limits: { budget: 100 USD/month }` }
const WINDOW: OwnWord = { hint: 'the window is part of the budget: limits: { budget: 100 USD/month }' }
const PARALLEL: OwnWord = { hint: `requests at once are a limit ${HOLDERS}: limits: { in_flight: 8 }` }
const COSTS: OwnWord = { hint: 'prices have a section of their own: prices: { MODEL: { input: 2.00, output: 8.00 } }' }
const NETWORKS: OwnWord = { hint: 'networks that it may be used from: networks: [10.0.0.0/8]', meant: 'networks' }
const ROUTES: OwnWord = { hint: 'routes that it may use: routes: [POST /v1/chat/*]', meant: 'routes' }
const GROUP: OwnWord = { hint: 'the name of its group, which is declared under groups', meant: 'group' }
const GROUPS: OwnWord = {
  hint: 'keys that share limits are a group: groups: { NAME: { limits: { budget: 500 USD/month } } }',
  meant: 'groups',
}
const UNIT = 'prices are in USD, per million tokens: { input: 2.00, output: 8.00 }'

const COMMON: Readonly<Record<string, OwnWord>> = {
  ratelimit: REQUESTS,
  ratelimits: REQUESTS,
  rate: REQUESTS,
  rpm: REQUESTS,
  rps: REQUESTS,
  rpd: REQUESTS,
  rpmlimit: REQUESTS,
  requestsperminute: REQUESTS,
  quota: BUDGETS,
  tpm: TOKENS,
  tpd: TOKENS,
  tpmlimit: TOKENS,
  tokensperminute: TOKENS,
  budget: BUDGETS,
  budgets: BUDGETS,
  maxbudget: BUDGETS,
  softbudget: BUDGETS,
  spendlimit: BUDGETS,
  creditlimit: BUDGETS,
  budgetduration: WINDOW,
  budgetreset: WINDOW,
  resetinterval: WINDOW,
  maxparallelrequests: PARALLEL,
  concurrency: PARALLEL,
  maxconcurrency: PARALLEL,
  inputcostpertoken: COSTS,
  outputcostpertoken: COSTS,
  cost: COSTS,
  price: COSTS,
  pricing: COSTS,
}

/** Of keys and groups. */
const OF_CALLERS: Readonly<Record<string, OwnWord>> = {
  ...COMMON,
  allowedmodels: { hint: 'the models that it may use', meant: 'models' },
  modellist: { hint: 'the models that it may use', meant: 'models' },
  allowedroutes: ROUTES,
  allowedendpoints: ROUTES,
  endpoints: ROUTES,
  paths: ROUTES,
  allowedips: NETWORKS,
  ips: NETWORKS,
  ipallowlist: NETWORKS,
  ipwhitelist: NETWORKS,
  team: GROUP,
  teamid: GROUP,
  organization: GROUP,
  organizationid: GROUP,
  groups: GROUP,
  parent: GROUP,
}

const OF_UPSTREAMS: Readonly<Record<string, OwnWord>> = {
  ...COMMON,
  env: PLACE,
  file: PLACE,
  apikey: SECRET,
  apikeyenv: SECRET,
  apitoken: SECRET,
  accesstoken: SECRET,
  authtoken: SECRET,
  token: SECRET,
  key: SECRET,
  auth: SECRET,
  baseurl: BASE,
  apibase: BASE,
  apiurl: BASE,
  url: BASE,
  uri: BASE,
  endpoint: BASE,
  address: BASE,
  host: BASE,
  provider: KIND,
  type: KIND,
  model: MODELS,
  models: MODELS,
  modellist: MODELS,
}

/** By section; keys in small letters, without dashes and underscores. */
const WORDS: Readonly<Record<string, Readonly<Record<string, OwnWord>>>> = {
  '': {
    ...COMMON,
    apikey: { hint: `write an upstream's secret with the upstream, ${ELSEWHERE}; callers are declared under keys` },
    baseurl: { hint: `write the address with its upstream, ${ELSEWHERE}` },
    apibase: { hint: `write the address with its upstream, ${ELSEWHERE}` },
    url: { hint: `write the address with its upstream, ${ELSEWHERE}` },
    modellist: { ...MODELS, meant: 'models' },
    pricing: { ...COSTS, meant: 'prices' },
    costs: { ...COSTS, meant: 'prices' },
    price: { ...COSTS, meant: 'prices' },
    modelprices: { ...COSTS, meant: 'prices' },
    teams: GROUPS,
    organizations: GROUPS,
    group: GROUPS,
    timezone: { hint: 'the calendar of limits and budgets', meant: 'time_zone' },
    tz: { hint: 'the calendar of limits and budgets', meant: 'time_zone' },
    providers: UPSTREAMS,
    backends: UPSTREAMS,
    endpoints: UPSTREAMS,
    targets: UPSTREAMS,
    apikeys: KEYS,
    virtualkeys: KEYS,
    users: KEYS,
    clients: KEYS,
    fallbacks: FALLBACKS,
    logging: { hint: 'the log level: log: { level: debug }', meant: 'log' },
    cache: { hint: 'answers are not cached' },
    caching: { hint: 'answers are not cached' },
    loglevel: { hint: 'the log level: log: { level: debug }', meant: 'log' },
    server: LISTEN,
    port: LISTEN,
    host: LISTEN,
    routersettings: SETTINGS,
    generalsettings: SETTINGS,
    litellmsettings: SETTINGS,
  },
  groups: OF_CALLERS,
  prices: {
    prompt: { hint: UNIT, meant: 'input' },
    completion: { hint: UNIT, meant: 'output' },
    inputcostpertoken: { hint: UNIT, meant: 'input' },
    outputcostpertoken: { hint: UNIT, meant: 'output' },
    inputcostpermillion: { hint: UNIT, meant: 'input' },
    outputcostpermillion: { hint: UNIT, meant: 'output' },
    cachereadinputtokencost: { hint: UNIT, meant: 'cached' },
    cachecreationinputtokencost: { hint: UNIT, meant: 'cache_write' },
    cacheread: { hint: UNIT, meant: 'cached' },
    cachedinput: { hint: UNIT, meant: 'cached' },
    outputcostperimage: { hint: 'what one image costs', meant: 'image' },
    inputcostpersecond: { hint: 'what a second of audio costs', meant: 'audio_second' },
    outputcostpersecond: { hint: 'what a second of video costs', meant: 'video_second' },
    inputcostpercharacter: { hint: 'what a character of speech costs', meant: 'character' },
  },
  keys: {
    ...OF_CALLERS,
    env: PLACE,
    file: PLACE,
    hash: PLACE,
    apikey: SECRET,
    key: SECRET,
    token: SECRET,
    value: SECRET,
    expiresat: { hint: 'the last day of a key', meant: 'expires' },
  },
  kinds: OF_UPSTREAMS,
  upstreams: OF_UPSTREAMS,
  models: {
    ...COMMON,
    apikey: { hint: `write the secret with the upstream, ${ELSEWHERE}` },
    baseurl: { hint: `write the address with the upstream, ${ELSEWHERE}` },
    apibase: { hint: `write the address with the upstream, ${ELSEWHERE}` },
    url: { hint: `write the address with the upstream, ${ELSEWHERE}` },
    provider: UPSTREAM,
    kind: UPSTREAM,
    model: AS,
    modelname: AS,
    name: AS,
    fallback: FALLBACKS,
    fallbacks: FALLBACKS,
    upstreams: FALLBACKS,
    models: FALLBACKS,
    route: FALLBACKS,
    params: DEFAULTS,
    parameters: DEFAULTS,
    temperature: DEFAULTS,
    topp: DEFAULTS,
    maxtokens: DEFAULTS,
    maxoutputtokens: { hint: 'the most tokens of one answer', meant: 'max_output' },
    reasoningeffort: DEFAULTS,
  },
}

/** Of sections that are one mapping; keys in small letters, without dashes and underscores. */
const SETTINGS_WORDS: Readonly<Record<string, Readonly<Record<string, OwnWord>>>> = {
  limits: {
    ...COMMON,
    requests: REQUESTS,
    tokens: TOKENS,
    maxbody: { hint: 'the largest body of a request', meant: 'body' },
    bodysize: { hint: 'the largest body of a request', meant: 'body' },
    maxbodysize: { hint: 'the largest body of a request', meant: 'body' },
    clientmaxbodysize: { hint: 'the largest body of a request', meant: 'body' },
    timeout: { hint: 'timeouts of upstreams are under timeouts' },
    concurrency: { hint: 'requests at the same time', meant: 'in_flight' },
    maxconnections: { hint: 'connections to an upstream', meant: 'connections' },
  },
  timeouts: {
    request: { hint: 'the time limit of a whole exchange', meant: 'total' },
    timeout: { hint: 'the time limit of a whole exchange', meant: 'total' },
    response: { hint: 'the time limit for the first byte of an answer', meant: 'first_byte' },
    header: { hint: 'the time limit for the first byte of an answer', meant: 'first_byte' },
    read: { hint: 'the time limit between two bytes of an answer', meant: 'idle' },
    stream: { hint: 'the time limit between two bytes of an answer', meant: 'idle' },
  },
  retry: {
    retries: { hint: 'attempts in all, the first included', meant: 'attempts' },
    maxretries: { hint: 'attempts in all, the first included', meant: 'attempts' },
    numretries: { hint: 'attempts in all, the first included', meant: 'attempts' },
    count: { hint: 'attempts in all, the first included', meant: 'attempts' },
    backoff: { hint: 'the first wait before a target is asked again', meant: 'wait' },
    delay: { hint: 'the first wait before a target is asked again', meant: 'wait' },
    maxbackoff: { hint: 'the longest wait before a target is asked again', meant: 'max_wait' },
    maxdelay: { hint: 'the longest wait before a target is asked again', meant: 'max_wait' },
    statuses: { hint: 'failures after which another target is tried', meant: 'on' },
    statuscodes: { hint: 'failures after which another target is tried', meant: 'on' },
  },
  listen: {
    address: { hint: 'the address to listen on', meant: 'host' },
    bind: { hint: 'the address to listen on', meant: 'host' },
    ip: { hint: 'the address to listen on', meant: 'host' },
    ssl: { hint: 'certificates: tls: { cert: ./cert.pem, key: ./key.pem }', meant: 'tls' },
  },
  log: { file: LOG_FILE, output: LOG_FILE },
}

/** Under `limits` of a key, a group, a model or an upstream. */
const LIMITS_WORDS: Readonly<Record<string, OwnWord>> = Object.fromEntries([
  ...wordsFor('requests', 'requests in a window, such as 60/min', [
    ...['rpm', 'rps', 'rpd', 'rpmlimit', 'rate', 'ratelimit', 'requestsperminute', 'request', 'maxrequests'],
  ]),
  ...wordsFor('tokens', 'tokens in a window, such as 100k/min', ['tpm', 'tpd', 'tpmlimit', 'tokensperminute', 'token']),
  ...wordsFor('budget', 'spending in a window, such as 100 USD/month', [
    ...['maxbudget', 'softbudget', 'budgets', 'spend', 'spendlimit', 'cost', 'usd', 'budgetduration', 'budgetreset'],
  ]),
  ...wordsFor('in_flight', 'requests at once', ['maxparallelrequests', 'concurrency', 'parallel', 'maxconcurrency']),
  ...wordsFor('max_output', 'the most tokens of one answer', ['maxtokens', 'maxoutputtokens', 'maxcompletiontokens']),
  ...wordsFor('body', 'the largest body of a request', ['maxbody', 'bodysize', 'maxbodysize']),
  ...wordsFor('streams', 'streams at once', ['maxstreams', 'sessions']),
])

const HAVE_LIMITS: ReadonlySet<string> = new Set(['keys', 'groups', 'models', 'upstreams'])

function wordsFor(meant: string, hint: string, words: readonly string[]): readonly (readonly [string, OwnWord])[] {
  return words.map(word => [word, { hint, meant }])
}

/** Our word for an unknown key at `site`, where another gateway has such a key there. */
export function ownWord(site: Site): OwnWord | undefined {
  const section = site.path.length === 1 ? '' : String(site.path[0])
  const word = String(site.path.at(-1)).toLowerCase().replaceAll(/[-_]/g, '')
  if (site.path.length === 4 && site.path[2] === 'limits' && HAVE_LIMITS.has(section)) {
    return Object.hasOwn(LIMITS_WORDS, word) ? LIMITS_WORDS[word] : undefined
  }
  const inEntry = site.path.length < 3 || isEntryOf(site)
  const words = site.path.length === 2 ? SETTINGS_WORDS[section] : WORDS[section]
  return inEntry && words !== undefined && Object.hasOwn(words, word) ? words[word] : undefined
}

/** Keys of an entry itself, and of the targets of a model. */
function isEntryOf({ path }: Site): boolean {
  const isTarget =
    path[0] === 'models' && typeof path.at(-2) === 'number' && (path.length === 4 || path[2] === 'targets')
  return path.length === 3 || isTarget
}
