import type { UpstreamConfig, VerbConfig } from '../core/config.js'
import { isObject } from '../core/json.js'
import { type Context, interpolate } from './context.js'
import { mergeCredential, readCredentialSecret, readPreviousSecrets } from './credentials.js'
import type { Site } from './document.js'
import { type ReadEgress, upstreamEgress } from './egress.js'
import { mergeSpeaks, type ReadEndpoint } from './endpoints.js'
import type { Entries, Entry } from './entries.js'
import { checkForward, checkHeaders } from './headers.js'
import { readLayers } from './health.js'
import { type Kinds, type Layer, last, readLayer } from './kinds.js'
import { mergePrices } from './prices.js'
import type { RawUpstream } from './raw.generated.js'
import { RECORDED_BASE, readRecordings, withoutWay } from './recordings.js'
import { Report } from './report.js'
import { readScopeLimits } from './scope-limits.js'
import { ABSENT_SECRET } from './secret-rule.js'
import { readRetry, readTimeouts } from './settings.js'
import { readTask } from './tasks.js'
import { readVerbs } from './verbs.js'

/** Stands for the address of an upstream that is off and whose address needs a variable that is not set (RFC 2606). */
const NOWHERE = 'https://off.invalid'

/** The name of a kind, as the schema has it. */
const KIND = /^[a-z0-9][a-z0-9._-]{0,63}$/

/** An upstream and where its parts are written. */
export interface ReadUpstream {
  readonly config: UpstreamConfig
  /** The upstream itself, then its kinds from near to far. */
  readonly sites: readonly Site[]
  readonly endpoints: ReadonlyMap<string, ReadEndpoint>
}

/** Upstreams with their kinds merged in. One that cannot be read is left out; the report says why. */
export function readUpstreams(
  entries: Entries<RawUpstream>,
  kinds: Kinds,
  egress: ReadEgress,
  context: Context,
): ReadonlyMap<string, ReadUpstream> {
  const upstreams = new Map<string, ReadUpstream>()
  for (const entry of entries.values()) {
    if (entry.value === undefined) checkKind(entry, kinds)
    const read = entry.value && readUpstream(entry, entry.value, kinds, egress, context)
    if (read !== undefined) upstreams.set(entry.name, read)
  }
  return upstreams
}

/** The kind of an upstream in which something else is wrong, but for one whose name is that. */
function checkKind({ site, written }: Entry<RawUpstream>, kinds: Kinds): void {
  if (isObject(written) && typeof written.kind === 'string' && KIND.test(written.kind)) {
    kinds.layers({ kind: written.kind }, site)
  }
}

function readUpstream(
  entry: Entry<RawUpstream>,
  raw: RawUpstream,
  kinds: Kinds,
  egress: ReadEgress,
  context: Context,
): ReadUpstream | undefined {
  const whole = kinds.layers(raw, entry.site)
  if (whole === undefined) return undefined
  const recordings = readRecordings(raw, whole, context)
  const written = recordings === undefined ? whole : whole.map(withoutWay)
  const own = written.at(-1)?.value ?? raw
  const { secret, others = [], off, assumed = false } = readCredentialSecret(own, written, context)
  const lacksSecret = off !== undefined || assumed
  const scoped = lacksSecret ? { ...context, report: new Report(context.report.unfilled) } : context
  const layers = written.map(layer => filled(layer, own, entry.site, scoped))
  const endpoints = mergeSpeaks(layers, context)
  const credential = mergeCredential(layers, secret, context)
  const base = recordings === undefined ? readBase(layers, entry.site, off, context) : RECORDED_BASE
  warnOfRepetition(written, base, endpoints, context)
  if (off === undefined) checkSpeaks(raw, layers, entry.site, context)
  const config: UpstreamConfig = {
    ...(raw.kind === undefined ? {} : { kind: raw.kind }),
    base,
    ...(credential === undefined ? {} : { credential }),
    ...(others.length === 0 ? {} : { otherSecrets: others }),
    previousSecrets: off === undefined ? readPreviousSecrets(own, entry.site, context) : [],
    ...(off === undefined ? {} : { off }),
    headers: mergeHeaders(layers, context),
    ...mergeMembers(layers),
    forward: {
      request: mergeForward(layers, 'request', context),
      response: mergeForward(layers, 'response', context),
      trace: layers.findLast(({ value }) => value.forward?.trace !== undefined)?.value.forward?.trace ?? true,
    },
    speaks: toRecord([...endpoints].map(([name, { config }]) => [name, config])),
    tasks: layers.flatMap(({ value, site }) =>
      value.tasks === undefined ? [] : [readTask(value.tasks, site.child('tasks'), scoped)],
    ),
    timeouts: Object.assign(
      {},
      ...layers.map(({ value, site }) => readTimeouts(value.timeouts, site.child('timeouts'), scoped)),
    ),
    health: readLayers(layers, endpoints.has('models'), scoped),
    retry: Object.assign({}, ...layers.map(({ value, site }) => readRetry(value.retry, site.child('retry'), scoped))),
    request: verbsOf(layers, 'request', context),
    response: verbsOf(layers, 'response', context),
    passesUnknown: raw.resources?.unknown === 'pass',
    traits: Object.assign({}, ...layers.map(({ value }) => value.traits)),
    ...readScopeLimits(raw.limits, entry.site, scoped),
    ...(raw.on_client_abort === undefined ? {} : { onClientAbort: raw.on_client_abort }),
    ...mergePrices(layers, context),
    ...upstreamEgress(raw, base, egress, entry.site, scoped),
    ...(raw.region === undefined ? {} : { region: raw.region }),
    ...(recordings === undefined ? {} : { recordings }),
  }
  if (lacksSecret) retell(scoped.report, off, context)
  return { config, sites: layers.map(layer => layer.site).reverse(), endpoints }
}

/**
 * What is wrong with an upstream that lacks its secret, without what may be set or put there with the secret: variables count
 * as set, and a file that is not there is an error only with the secret.
 */
function retell(scoped: Report, off: string | undefined, { report }: Context): void {
  for (const problem of scoped.sorted()) {
    const { rule } = problem
    if (rule === 'unset-variable') continue
    if (off === 'disabled' && (rule === 'unreadable-file' || rule === ABSENT_SECRET)) continue
    report.add(rule === 'unreadable-file' ? { ...problem, severity: 'warning' } : problem)
  }
}

function checkSpeaks(raw: RawUpstream, layers: readonly Layer[], site: Site, { report }: Context): void {
  if (layers.some(({ value }) => Object.values(value.speaks ?? {}).some(call => call !== 'off'))) return
  const cure = raw.kind === undefined ? 'add kind or speaks' : 'its kind has none: add speaks'
  report.error('speaks-nothing', site, `this upstream speaks no protocol: ${cure}`, { on: 'key' })
}

function verbsOf(layers: readonly Layer[], direction: 'request' | 'response', context: Context): readonly VerbConfig[] {
  const layer = last(layers, direction)
  return layer === undefined ? [] : readVerbs(layer.value[direction], layer.site.child(direction), context)
}

/** Fills in a layer's variables. Those of a shipped kind are reported at the upstream that needs them. */
function filled(layer: Layer, own: RawUpstream, upstream: Site, context: Context): Layer {
  const raw = layer.site.document.shipped ? withoutReplaced(layer.value, own) : layer.value
  return { ...layer, value: readLayer(layer, upstream, context, scoped => interpolate(raw, layer.site, scoped)) }
}

/** What the upstream says of the credential itself needs no variables of its kind. */
function withoutReplaced(value: RawUpstream, { credential: own }: RawUpstream): RawUpstream {
  const { credential, ...rest } = value
  if (own === undefined || credential === undefined || !('type' in credential)) return value
  if (!('type' in own) || own.type !== credential.type) return rest
  const kept = Object.entries(credential).filter(([name]) => name === 'type' || !(name in own))
  return { ...rest, credential: { type: credential.type, ...Object.fromEntries(kept) } }
}

function readBase(layers: readonly Layer[], upstream: Site, off: string | undefined, { report }: Context): string {
  const layer = last(layers, 'base')
  const text = layer?.value.base
  if (layer === undefined || text === undefined) {
    const message = `"base" is missing here: ${addressForm(layers)}`
    if (off === undefined) report.error('missing-key', upstream, message, { on: 'key' })
    // With its secret there it would be an error: the file is not whole in either case.
    else if (off !== 'disabled') report.warn('missing-key', upstream, message, { on: 'key' })
    return NOWHERE
  }
  const result = parseBase(
    text,
    layers.some(({ kind }) => /^simulator(-|$)/.test(kind ?? '')),
  )
  if ('base' in result) return result.base
  // A variable that is not set has already been reported, or belongs to what is off.
  if (!report.unfilled.has(text)) report.error('bad-base', layer.site.child('base'), result.fault)
  return NOWHERE
}

/** The form of the address, from the description of a kind: "Set `base` to https://…". */
function addressForm(layers: readonly Layer[]): string {
  const shown = layers.flatMap(
    ({ value }) => /`base` to (https?:\/\/[^\s,;]+[^\s,;.])/.exec(value.description ?? '')?.[1] ?? [],
  )
  return `the address of the upstream${shown[0] === undefined ? '' : `, such as ${shown[0]}`}`
}

/** An address that ends as calls begin, which no server wants. Shown as it is written: a variable may hold anything. */
function warnOfRepetition(
  written: readonly Layer[],
  base: string,
  endpoints: ReadonlyMap<string, ReadEndpoint>,
  { report }: Context,
): void {
  const layer = last(written, 'base')
  if (layer === undefined || layer.site.document.shipped) return
  for (const { config } of endpoints.values()) {
    const duplicate = duplicatePrefix(base, config.call.target)
    if (duplicate === undefined) continue
    const message = `calls of this upstream already begin with ${duplicate} (${config.call.method} ${config.call.target}): remove it here`
    const text = layer.value.base ?? ''
    report.warn('repeated-path', layer.site.child('base'), message, {
      meant: () =>
        text.replace(/\/+$/, '').endsWith(duplicate) ? text.slice(0, text.lastIndexOf(duplicate)) : undefined,
    })
    return
  }
}

function mergeHeaders(layers: readonly Layer[], context: Context): Record<string, string> {
  const checked = layers.map(({ value, site }) => checkHeaders(value.headers ?? {}, site.child('headers'), context))
  return toRecord(checked.flatMap(headers => Object.entries(headers)))
}

function mergeMembers(layers: readonly Layer[]): Pick<UpstreamConfig, 'members'> {
  const declared = layers.flatMap(({ value }) => Object.entries(value.members ?? {}))
  return declared.length === 0 ? {} : { members: toRecord(declared) }
}

function mergeForward(
  layers: readonly Layer[],
  direction: 'request' | 'response',
  context: Context,
): readonly string[] {
  const layer = layers.findLast(({ value }) => value.forward?.[direction] !== undefined)
  return layer === undefined
    ? []
    : checkForward(layer.value.forward?.[direction] ?? [], layer.site.child('forward', direction), context)
}

function toRecord<T>(entries: readonly (readonly [string, T])[]): Record<string, T> {
  const record: Record<string, T> = Object.create(null)
  for (const [name, value] of entries) record[name] = value
  return record
}

const EMBEDDED = 'embedded:simulator'

/**
 * An upstream's address without a slash at its end, or what is wrong with it. The fault does not quote the address: a
 * variable may have put anything there.
 */
function parseBase(text: string, simulated: boolean): { readonly base: string } | { readonly fault: string } {
  // Where its recordings are missing, that has been reported.
  if (text === RECORDED_BASE) return { base: RECORDED_BASE }
  if (text === EMBEDDED) {
    return simulated ? { base: EMBEDDED } : { fault: `${EMBEDDED} works only for upstreams of kind simulator` }
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return { fault: 'expected an address such as https://api.north.example or http://127.0.0.1:8000' }
  }
  if (url.username !== '' || url.password !== '') {
    return { fault: 'an address must not contain a user name or password: use credential and secret' }
  }
  if (/[?#]/.test(text))
    return { fault: 'an address must not contain a query or fragment: write a query in the calls of speaks' }
  if (/[{}\s\\]/.test(text)) return { fault: 'an address must not contain braces, spaces or backslashes' }
  return { base: `${url.origin}${url.pathname.replace(/\/+$/, '')}` }
}

/**
 * What is at the end of an address and at the head of a call as well, such as `/v1`: clients' libraries want it in
 * the address, the calls of kinds begin with it.
 */
function duplicatePrefix(base: string, target: string): string | undefined {
  if (base.startsWith('embedded:')) return undefined
  const segments = new URL(base).pathname.split('/').slice(1).filter(Boolean)
  const ends = segments.map((_, index) => `/${segments.slice(index).join('/')}`)
  return ends.find(end => `${target.replace(/\?.*/, '')}/`.startsWith(`${end}/`))
}
