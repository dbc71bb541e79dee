import type { ErrorObject } from 'ajv'
import { Site } from './document.js'
import { ownWord } from './foreign-words.js'
import { type Details, listed, quoted } from './report.js'
import { alternative, messageOf, series, shown } from './schema-words.js'
import { looksLikeKey } from './secret-lines.js'
import { spaceMissing, unspacedKey } from './separators.js'
import { cureOf, slipMeant, targetMeant } from './slips.js'
import { suggest } from './suggest.js'
import type { FileType } from './validators.js'

/** A problem as it goes to the report. */
interface SchemaProblem extends Details {
  readonly rule: string
  readonly site: Site
  readonly message: string
}

/** Keys of the main file that no other file may have. */
const MAIN_ONLY = new Set([
  'version',
  'listen',
  'limits',
  'timeouts',
  'retry',
  'store',
  'spool',
  'log',
  'transport',
  'workers',
  'media',
  'tasks',
  'egress',
  'webhooks',
  'admin',
  'telemetry',
  'identity',
  'response_schemas',
  'checks',
  'time_zone',
  'unpriced',
  'ledger',
  'interfaces',
])

/** What a missing key is for. */
const PURPOSES: Readonly<Record<string, string>> = {
  version: 'write version: 1',
  upstream: 'the name of the upstream that serves the model',
  secret: 'where to find the key, such as { env: GATEWAY_KEY }',
  call: 'a method and a path, such as POST /v1/chat/completions',
  in: 'header, query or subprotocol',
  name: 'the name of the header or query parameter',
  cert: 'the PEM file of the certificate',
  key: 'the PEM file of the private key',
}

/** Turns an error of a validator into a problem for people. `site` is where it is, see `pathOf`. */
export function problemOf(error: ErrorObject, site: Site, type: FileType): SchemaProblem {
  const unspaced = unspacedIn(error, site)
  if (unspaced !== undefined) return spaceProblem(unspaced, error, site)
  switch (error.keyword) {
    case 'additionalProperties':
      return unknownKey(error, site, type)
    case 'required':
      return { rule: 'missing-key', site, message: missing(String(error.params.missingProperty), site), on: 'key' }
    case 'enum':
      return notAmong(error, site)
    default:
      return isLiteralSecret(error) ? literalSecret(error, site) : badValue(error, site)
  }
}

/** The key of an intended mapping without a space after its colon: a text, or a key without a value. */
function unspacedIn({ keyword, params, data, parentSchema }: ErrorObject, site: Site): string | undefined {
  if (parentSchema?.['x-secret'] === true) return undefined
  if (keyword === 'additionalProperties') {
    const key = unspacedKey(String(params.additionalProperty))
    return key !== undefined && Object.hasOwn(parentSchema?.properties ?? {}, key) ? key : undefined
  }
  if (keyword === 'type' && data === null) return unspacedKey(String(site.path.at(-1)))
  const wantsMore = keyword === 'type' ? [params.type].flat().includes('object') : isNamePattern(parentSchema)
  return wantsMore && typeof data === 'string' ? unspacedKey(data) : undefined
}

/** Reported at its parent: the rest of the key may be a secret. */
function spaceProblem(key: string, { data, params }: ErrorObject, site: Site): SchemaProblem {
  const isText = typeof data === 'string'
  const holder = isText ? site : new Site(site.document, site.path.slice(0, -1))
  const secret = looksLikeKey(isText ? data : String(params.additionalProperty ?? site.path.at(-1)))
  return { rule: 'syntax', site: holder, message: spaceMissing(key), on: isText ? 'value' : 'key', secret }
}

function isNamePattern(schema: ErrorObject['parentSchema']): boolean {
  return String(schema?.patternErrorMessage).startsWith('expected a name made of letters')
}

function badValue(error: ErrorObject, site: Site): SchemaProblem {
  const isName = error.propertyName !== undefined
  return {
    rule: isName ? 'bad-name' : error.keyword === 'type' ? 'wrong-type' : 'bad-value',
    site,
    message: `${upstreamWanted(error, site) ?? messageOf(error)}${cureOf(error, site)}`,
    on: isName ? 'key' : 'value',
    meant: () => slipMeant(error, site) ?? alternative(error),
    secret: error.parentSchema?.['x-secret'] === true,
  }
}

/** Where the name of an upstream is due, what names look like is not what helps. */
function upstreamWanted({ keyword, data, parentSchema }: ErrorObject, { path }: Site): string | undefined {
  if (path[0] !== 'models' || !isNamePattern(parentSchema) || keyword !== 'pattern' || typeof data !== 'string')
    return undefined
  const meant = targetMeant(data)
  if (meant === undefined) return undefined
  return meant.startsWith('[')
    ? 'expected the name of one upstream; write several as a list'
    : 'expected the name of an upstream; write its model beside it'
}

function missing(name: string, site: Site): string {
  const isWebhook = site.path[0] === 'webhooks' && name === 'secret'
  const purpose = isWebhook ? 'where to find the signing secret, such as { env: WEBHOOK_SECRET }' : PURPOSES[name]
  return `${quoted(name)} is missing here${purpose === undefined ? '' : `: ${purpose}`}`
}

function unknownKey(error: ErrorObject, site: Site, type: FileType): SchemaProblem {
  const rule = 'unknown-key'
  const name = String(error.params.additionalProperty)
  if (type === 'routes' && site.path.length === 1 && MAIN_ONLY.has(name)) {
    return { rule, site, message: `unknown key ${quoted(name)}; it is allowed only in the main file`, on: 'key' }
  }
  const renamed = renamedTo(error.parentSchema, name)
  if (renamed !== undefined) {
    return { rule, site, message: `unknown key ${quoted(name)}: it was renamed`, on: 'key', meant: () => renamed }
  }
  const foreign = ownWord(site)
  if (foreign !== undefined) {
    const message = `unknown key ${quoted(name)}: ${foreign.hint}`
    return { rule, site, message, on: 'key', meant: () => foreign.meant, secret: foreign.hint.includes('secret') }
  }
  const allowed = Object.keys(error.parentSchema?.properties ?? {})
  const meant = suggest(name, allowed)
  const secret = error.parentSchema?.['x-secret'] === true
  if ((secret && meant === undefined) || looksLikeKey(name)) {
    // The name itself may be the secret: { sk-…: }.
    const parent = new Site(site.document, site.path.slice(0, -1))
    const message = String(error.parentSchema?.errorMessage ?? 'an unknown key that looks like a secret')
    return { rule, site: parent, message, on: 'key', secret: true, meant: () => referenceIn(name, error.data) }
  }
  const known = meant === undefined ? listed(allowed) : undefined
  const message = `unknown key ${quoted(name)}${known === undefined ? '' : `; known here: ${known}`}`
  return { rule, site, message, on: 'key', meant: () => meant, secret }
}

/** What took the place of a key that earlier versions of the language had, as the schema says. */
function renamedTo(schema: ErrorObject['parentSchema'], name: string): string | undefined {
  const renamed: Readonly<Record<string, string>> = schema?.['x-renamed'] ?? {}
  return Object.hasOwn(renamed, name) ? renamed[name] : undefined
}

function notAmong(error: ErrorObject, site: Site): SchemaProblem {
  const allowed: readonly unknown[] = error.params.allowedValues
  const { data } = error
  const isFailure = site.path.at(-3) === 'retry' && site.path.at(-2) === 'on'
  const others = isFailure ? ', or a status such as 429' : ''
  const own: unknown = error.parentSchema?.errorMessage
  if (typeof own === 'string') return { rule: 'bad-value', site, message: `${own}, but found ${shown(data)}` }
  const words =
    allowed.length === 1 && allowed[0] === 'off' ? 'a mapping such as { protocol: chat }, or off' : series(allowed)
  const message = `expected ${words}${others}, but found ${shown(data)}${isFailure ? cureOf(error, site) : ''}`
  const meant = (): string | undefined =>
    typeof data === 'string'
      ? (suggest(data, allowed.map(String)) ?? slipMeant(error, site) ?? moduleOf(data, site))
      : undefined
  return { rule: 'bad-value', site, message, meant }
}

/** A store's module whose path looks like a type's name. */
function moduleOf(written: string, site: Site): string | undefined {
  return site.text === 'store.type' && /^\w.*\.[cm]?js$/.test(written) ? `./${written}` : undefined
}

function isLiteralSecret(error: ErrorObject): boolean {
  return error.parentSchema?.['x-secret'] !== undefined && typeof error.data === 'string'
}

function literalSecret(error: ErrorObject, site: Site): SchemaProblem {
  const written = String(error.data)
  const message =
    error.keyword === 'type' ? literalSecretMessage(written, site) : `${messageOf(error)}${cureOf(error, site)}`
  return { rule: 'literal-secret', site, message, secret: true, meant: () => referenceMeant(error, site) }
}

/** Forms in which other programs name a variable. What could be a secret itself is never among them. */
const NAMED_VARIABLES: readonly RegExp[] = [
  /^\$\{([A-Za-z_]\w*)\}$/,
  /^\$([A-Z_][A-Z0-9_]*)$/,
  /^(?:\$?env[:.]|os\.environ[/.]|process\.env\.|env\/)\$?([A-Z_][A-Z0-9_]*)$/,
  /^\$?\{\{ *(?:env\.|\.)?([A-Z_][A-Z0-9_]*) *\}\}$/,
  /^(?:%([A-Z_][A-Z0-9_]*)%|\$\(([A-Z_][A-Z0-9_]*)\))$/,
  /^([A-Z][A-Z0-9_]*_(?:KEY|TOKEN|SECRET|PASSWORD))$/,
]

/** `{ env: X }` where a variable's name was written instead of the reference to it. */
function referenceMeant(error: ErrorObject, site: Site): string | undefined {
  const name = variableNamed(String(error.data))
  if (name === undefined) return undefined
  if (error.keyword !== 'type') return site.path.at(-1) === 'env' ? name : undefined
  const reference = `{ env: ${name} }`
  return site.path[0] === 'keys' && site.path.length === 2 ? `{ secret: ${reference} }` : reference
}

/** Keys under which other programs name the variable of a secret. */
const VARIABLE_KEYS = /^(?:name|var|variable|environment|environment_variable|env_?(?:var|name|key)|from_?env)$/i
/** Words of capital letters, such as no secret is made of. */
const VARIABLE_NAME = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/

/** `{ env: X }` where a mapping names the variable by a key that is not known here, or by that key alone. */
function referenceIn(key: string, data: unknown): string | undefined {
  const value: unknown =
    typeof data === 'object' && data !== null ? Object.entries(data).find(([k]) => k === key)?.[1] : undefined
  const written = value === null ? key : value
  if (typeof written !== 'string' || (value !== null && !VARIABLE_KEYS.test(key))) return undefined
  const name = variableNamed(written) ?? (value !== null && VARIABLE_NAME.test(written) ? written : undefined)
  return name === undefined || looksLikeKey(name) ? undefined : `{ env: ${name} }`
}

function variableNamed(written: string): string | undefined {
  const found = NAMED_VARIABLES.map(form => form.exec(written)).find(match => match !== null)
  const name = found?.[1] ?? found?.[2]
  return name === undefined || looksLikeKey(name) ? undefined : name
}

function literalSecretMessage(written: string, site: Site): string {
  const isKey = site.path[0] === 'keys'
  const inserted = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/.exec(written)?.[1]
  const reference = `{ env: ${inserted ?? variableFor(site)} }`
  const whole = isKey && site.path.length === 2 ? `{ secret: ${reference} }` : reference
  if (inserted !== undefined) return `name a secret instead of inserting it: write ${whole}`
  const what = `a ${isKey ? 'key' : 'secret'} must not be written into this file`
  const other = isKey ? 'write the hash that `gateway keys new` prints' : 'into a file and write { file: path }'
  return `${what}: put it into an environment variable and write ${whole}, or ${other}`
}

/** A good name for the variable that holds the secret of a key or an upstream. */
function variableFor(site: Site): string {
  const name = String(site.path[1] ?? '')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()
  return site.path[0] === 'keys' ? `KEY_${name}` : `${/^[A-Z]/.test(name) ? name : 'UPSTREAM'}_API_KEY`
}
