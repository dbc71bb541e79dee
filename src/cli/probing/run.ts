import type { Config } from '../../core/config.js'
import { isObject, type JsonObject } from '../../core/json.js'
import { findPrice, PriceList } from '../../core/price-list.js'
import { NoResponseError } from '../../kernel/http-call.js'
import type { LineAnswer, UpstreamLine } from '../../runtime/upstream-line.js'
import { CommandError, EXIT } from '../io.js'
import { valueAt } from '../testing/client.js'
import type { Finding } from './findings.js'
import { LIMIT_PROBES, MAX_OUTPUT_TOKENS, NOT_IMPLEMENTED, PROBES, type Probe, REFUSAL } from './probes.js'
import { TRAIT_PROBES } from './trait-probes.js'

/** Statuses that say nothing of what a server can do: of credentials, of rates, and of its own faults. */
const UNKNOWN = new Set([401, 402, 403, 408, 429])
/** Most characters of what a server said that are shown. */
const MAX_REASON_CHARS = 160
/** Bytes of a request that stand for a token, at least: for the bound of the cost. */
const BYTES_PER_TOKEN = 2
const MILLION = 1_000_000
/** Those behind the limit. */
const OTHERS: readonly Probe[] = [...PROBES, ...TRAIT_PROBES]

/** Asks one probe after the other. Throws {@link CommandError} if the server does not let itself be asked. */
export async function runProbes(line: UpstreamLine, model: string): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const probe of LIMIT_PROBES) findings.push(await ask(line, probe, model, {}))
  // A server that takes neither name is asked without a limit.
  const limitName = findings.find(({ found }) => found === 'yes')?.name
  const limit: JsonObject = limitName === undefined ? {} : { [limitName]: MAX_OUTPUT_TOKENS }
  for (const probe of OTHERS) findings.push(await ask(line, probe, model, limit))
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
    throw new CommandError(`the upstream refuses the credential (${status}): ${reasonOf(answer)}`, EXIT.failed)
  if (probe.readsRefusals) return { name, what, found: probe.read?.(answer) ?? 'unknown' }
  if (status < 300) {
    const found = probe.read?.(answer) ?? 'yes'
    const takesAll =
      found === 'yes' && probe.nonsense !== undefined && (await takes(line, probe, probe.nonsense(model), model))
    return { name, what, found: takesAll ? 'ignored' : found }
  }
  const reason = `${status} ${reasonOf(answer)}`
  return { name, what, found: refusal(status, reason), reason }
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
  const isUnknown = UNKNOWN.has(status) || (status >= 500 && !REFUSAL.test(reason))
  return isUnknown ? 'unknown' : 'no'
}

function reasonOf({ body, text }: LineAnswer): string {
  const error = isObject(body) ? (body.error ?? body.message) : undefined
  const message = typeof error === 'string' ? error : valueAt(error, 'message')
  const said = (typeof message === 'string' ? message : text).replaceAll(/\s+/g, ' ')
  return said.length > MAX_REASON_CHARS ? `${said.slice(0, MAX_REASON_CHARS)}…` : said
}

/** The requests, and the most that they use and cost. */
export function most({ upstreams, accounting }: Config, name: string, model: string): string {
  const all = [...LIMIT_PROBES, ...OTHERS]
  const limit = { max_completion_tokens: MAX_OUTPUT_TOKENS }
  const bodies = all.flatMap(({ body, nonsense }) => [
    body(model, limit),
    ...(nonsense === undefined ? [] : [nonsense(model)]),
  ])
  const bytes = bodies.reduce((sum, body) => sum + JSON.stringify(body).length, 0)
  const [input, output] = [Math.ceil(bytes / BYTES_PER_TOKEN), bodies.length * MAX_OUTPUT_TOKENS]
  const sources = {
    own: new PriceList(accounting?.prices),
    upstream: new PriceList(upstreams[name]?.prices),
    shipped: new PriceList(accounting?.shippedPrices),
  }
  const price = findPrice({ upstream: name, target: model, models: [] }, sources)
  const usd = price === undefined ? undefined : (input * (price.input ?? 0) + output * (price.output ?? 0)) / MILLION
  const cost = usd === undefined ? 'no price of the model is known' : `at most ${usd.toFixed(4)} USD`
  const lines = all.map(probe => `${probe.name}: ${probe.what}`)
  return [...lines, `${bodies.length} requests, at most ${input} tokens in and ${output} out; ${cost}`].join('\n')
}
