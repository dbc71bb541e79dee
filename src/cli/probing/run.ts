import type { Price } from '../../core/bounds.js'
import type { Config } from '../../core/config.js'
import { PRICE_PER_USD } from '../../core/cost.js'
import { isObject, type JsonObject } from '../../core/json.js'
import { findPrice, PriceList } from '../../core/price-list.js'
import { NoResponseError } from '../../kernel/http-call.js'
import type { LineAnswer, UpstreamLine } from '../../runtime/upstream-line.js'
import { CommandError, EXIT, printable } from '../io.js'
import { valueAt } from '../testing/client.js'
import { type Finding, foundIn } from './findings.js'
import { addressProbes, JUDGE_PROBES, MAX_PICTURES, PICTURE_PROBES, PURPOSE_PROBES } from './media-probes.js'
import { LIMIT_PROBES, MAX_OUTPUT_TOKENS, NOT_IMPLEMENTED, PROBES, type Probe, REFUSAL } from './probes.js'
import { TRAIT_PROBES } from './trait-probes.js'

/** Statuses that say nothing of what a server can do: of credentials, of rates, and of its own faults. */
const UNKNOWN = new Set([401, 402, 403, 408, 429])
/** Most characters of what a server said that are shown. */
const MAX_REASON_CHARS = 160
/** Bytes of a request that stand for a token, at least: for the bound of the cost. */
const BYTES_PER_TOKEN = 2
/** More than a picture takes. */
const MAX_PICTURE_TOKENS = 10_000

/** What a run may do beside tiny requests of texts. */
export interface Leave {
  /** An address of a picture that the server may fetch. */
  readonly url?: string
  /** Whether it may make pictures, which cost more. */
  readonly pictures?: boolean
}

/** Those behind the limit. */
function others({ url }: Leave): readonly Probe[] {
  const media = [...addressProbes(url), ...PURPOSE_PROBES, ...JUDGE_PROBES, ...PICTURE_PROBES]
  return [...PROBES, ...TRAIT_PROBES, ...media]
}

/** What a probe without a useful answer found. */
const UNANSWERED: ReadonlySet<string> = new Set(['no', 'unknown', 'off', 'not asked'])

/** Asks one probe after the other. Throws {@link CommandError} if the server does not let itself be asked, or answers none. */
export async function runProbes(line: UpstreamLine, model: string, leave: Leave = {}): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const found = foundIn(findings)
  for (const probe of LIMIT_PROBES) findings.push(await ask(line, probe, model, {}))
  // A server that takes neither name is asked without a limit.
  const limitName = findings.find(({ found }) => found === 'yes')?.name
  const limit: JsonObject = limitName === undefined ? {} : { [limitName]: MAX_OUTPUT_TOKENS }
  for (const probe of others(leave)) {
    if (probe.isFor?.(found) === false) continue
    const isFree = probe.makesPictures === undefined || leave.pictures === true
    const reason = isFree ? probe.skips?.(found) : 'it costs a picture: --pictures'
    const { name, what } = probe
    findings.push(
      reason === undefined ? await ask(line, probe, model, limit) : { name, what, found: 'not asked', reason },
    )
  }
  const readsRefusals = new Set(others(leave).flatMap(one => (one.readsRefusals ? [one.name] : [])))
  if (findings.every(({ name, found }) => readsRefusals.has(name) || UNANSWERED.has(found))) {
    const reason = findings[0]?.reason ?? 'no answer shows what the upstream does'
    const pictures = leave.pictures === true ? '' : '; a model that only makes pictures needs `--pictures`'
    throw new CommandError(`nothing was found: ${reason}: look at \`base\`, and at \`--model\`${pictures}`, EXIT.failed)
  }
  return findings
}

async function ask(line: UpstreamLine, probe: Probe, model: string, limit: JsonObject): Promise<Finding> {
  const { name, what, protocol, path } = probe
  let answer: LineAnswer
  try {
    answer = await line.ask(protocol, path, model, probe.body(model, limit))
  } catch (cause) {
    if (!(cause instanceof NoResponseError)) throw cause
    if (name === LIMIT_PROBES[0]?.name)
      throw new CommandError(`the upstream does not answer: ${cause.message}`, EXIT.failed)
    return { name, what, found: 'unknown', reason: cause.message }
  }
  const { status } = answer
  if (status === 401 || status === 403)
    throw new CommandError(`the upstream refuses the credential (${status}): ${reasonOf(line, answer)}`, EXIT.failed)
  if (status < 300 && !isData(answer))
    return { name, what, found: 'unknown', reason: `${status} without JSON: ${reasonOf(line, answer)}` }
  if (probe.readsRefusals) {
    const found = probe.read?.(answer) ?? 'unknown'
    const isTold = status >= 400 && (found === 'no' || found === 'unknown')
    return { name, what, found, ...(isTold && { reason: `${status} ${reasonOf(line, answer)}` }) }
  }
  if (status < 300) {
    const found = probe.read?.(answer) ?? 'yes'
    const takesAll =
      found === 'yes' && probe.nonsense !== undefined && (await takes(line, probe, probe.nonsense(model), model))
    return { name, what, found: takesAll ? 'ignored' : found }
  }
  const reason = `${status} ${reasonOf(line, answer)}`
  return { name, what, found: refusal(status, reason), reason }
}

/** Whether it is JSON, a stream of events, or sound: no page of a proxy or of a login. */
function isData({ body, text }: LineAnswer): boolean {
  return (typeof body === 'object' && body !== null) || /^(?:data|event):/m.test(text) || /[\0\ufffd]/.test(text)
}

async function takes(line: UpstreamLine, { protocol, path }: Probe, body: JsonObject, model: string): Promise<boolean> {
  const answer = await line.ask(protocol, path, model, body).catch((cause: unknown) => {
    if (!(cause instanceof NoResponseError)) throw cause
    return undefined
  })
  // Only a clear refusal shows that the member is read.
  return answer === undefined || answer.status < 400 || UNKNOWN.has(answer.status)
}

function refusal(status: number, reason: string): string {
  if (status === NOT_IMPLEMENTED) return 'off'
  const isUnknown = status < 400 || UNKNOWN.has(status) || (status >= 500 && !REFUSAL.test(reason))
  return isUnknown ? 'unknown' : 'no'
}

function reasonOf(line: UpstreamLine, { body, text }: LineAnswer): string {
  const error = isObject(body) ? (body.error ?? body.message) : undefined
  const message = typeof error === 'string' ? error : valueAt(error, 'message')
  const said = printable(line.cleaned(typeof message === 'string' ? message : text).replaceAll(/\s+/g, ' '))
  return said.length > MAX_REASON_CHARS ? `${said.slice(0, MAX_REASON_CHARS)}…` : said
}

/** The requests, and the most that they use and cost. */
export function most({ upstreams, accounting }: Config, name: string, model: string, leave: Leave): string {
  const limit = { max_completion_tokens: MAX_OUTPUT_TOKENS }
  const sizes = new Map<string, readonly number[]>()
  const all = [...LIMIT_PROBES, ...others(leave)].filter(one => leave.pictures === true || !one.makesPictures)
  for (const { name, body, nonsense } of all) {
    const bodies = [body(model, limit), ...(nonsense === undefined ? [] : [nonsense(model)])]
    const bytes = bodies.map(each => JSON.stringify(each).length)
    // Of several with one name, one is asked.
    if (sum(bytes) > sum(sizes.get(name) ?? [])) sizes.set(name, bytes)
  }
  const bytes = [...sizes.values()].flat()
  const [input, output] = [Math.ceil(sum(bytes) / BYTES_PER_TOKEN), bytes.length * MAX_OUTPUT_TOKENS]
  const pictures = leave.pictures === true ? MAX_PICTURES : 0
  const sources = {
    own: new PriceList(accounting?.prices),
    upstream: new PriceList(upstreams[name]?.prices),
    shipped: new PriceList(accounting?.shippedPrices),
  }
  const price = findPrice({ upstream: name, target: model, models: [] }, sources)
  const cost =
    price === undefined ? 'no price of the model is known' : `at most ${usd(price, input, output, pictures)} USD`
  const lines = new Map(all.map(probe => [probe.name, `${probe.name}: ${probe.what}`]))
  const drawn = pictures === 0 ? '' : `, and ${pictures} pictures`
  return [
    ...lines.values(),
    `${bytes.length} requests, at most ${input} tokens in and ${output} out${drawn}; ${cost}`,
  ].join('\n')
}

/** Rates are those of one token, or one picture. A picture costs its own price, or that of its tokens. */
function usd(price: Price, input: number, output: number, pictures: number): string {
  const picture = Math.max(price.image ?? 0, (price.output ?? 0) * MAX_PICTURE_TOKENS)
  const tokens = input * (price.input ?? 0) + output * (price.output ?? 0)
  return ((tokens + pictures * picture) / PRICE_PER_USD).toFixed(4)
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0)
}
