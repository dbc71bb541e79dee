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
const LISTEN: OwnWord = { hint: 'where the gateway listens: listen: { host: 127.0.0.1, port: 8080 }', meant: 'listen' }
const ELSEWHERE = 'in upstreams: { NAME: { kind: KIND, secret: { env: NAME }, base: https://… } }'
const RATES: OwnWord = {
  hint: 'rate limits are not supported; limits bounds sizes, connections and requests in flight',
}
const BUDGETS: OwnWord = { hint: 'budgets are not supported; the request log has the usage of each key' }

const COMMON: Readonly<Record<string, OwnWord>> = {
  ratelimit: RATES,
  ratelimits: RATES,
  rpm: RATES,
  tpm: RATES,
  rpmlimit: RATES,
  tpmlimit: RATES,
  budget: BUDGETS,
  budgets: BUDGETS,
  maxbudget: BUDGETS,
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
  keys: {
    ...COMMON,
    env: PLACE,
    file: PLACE,
    hash: PLACE,
    apikey: SECRET,
    key: SECRET,
    token: SECRET,
    value: SECRET,
    allowedmodels: { hint: 'the models that a key may use', meant: 'models' },
    modellist: { hint: 'the models that a key may use', meant: 'models' },
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
    reasoningeffort: DEFAULTS,
  },
}

/** Of sections that are one mapping; keys in small letters, without dashes and underscores. */
const SETTINGS_WORDS: Readonly<Record<string, Readonly<Record<string, OwnWord>>>> = {
  limits: {
    ...COMMON,
    rate: RATES,
    rps: RATES,
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
    backoff: { hint: 'the next target is tried at once' },
    delay: { hint: 'the next target is tried at once' },
    statuses: { hint: 'failures after which another target is tried', meant: 'on' },
    statuscodes: { hint: 'failures after which another target is tried', meant: 'on' },
  },
  listen: {
    address: { hint: 'the address to listen on', meant: 'host' },
    bind: { hint: 'the address to listen on', meant: 'host' },
    ip: { hint: 'the address to listen on', meant: 'host' },
    ssl: { hint: 'certificates: tls: { cert: ./cert.pem, key: ./key.pem }', meant: 'tls' },
  },
  log: { format: { hint: 'the log is always JSON lines on standard error' } },
}

/** Our word for an unknown key at `site`, where another gateway has such a key there. */
export function ownWord(site: Site): OwnWord | undefined {
  const section = site.path.length === 1 ? '' : String(site.path[0])
  const inEntry = site.path.length < 3 || isEntryOf(site)
  const words = site.path.length === 2 ? SETTINGS_WORDS[section] : WORDS[section]
  const word = String(site.path.at(-1)).toLowerCase().replaceAll(/[-_]/g, '')
  return inEntry && words !== undefined && Object.hasOwn(words, word) ? words[word] : undefined
}

/** Keys of an entry itself, and of the targets of a model. */
function isEntryOf({ path }: Site): boolean {
  const isTarget =
    path[0] === 'models' && typeof path.at(-2) === 'number' && (path.length === 4 || path[2] === 'targets')
  return path.length === 3 || isTarget
}
