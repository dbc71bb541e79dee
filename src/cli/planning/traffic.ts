import { createReadStream } from 'node:fs'
import { MICRO_PER_USD } from '../../core/cost.js'
import { isObject, parseJson } from '../../core/json.js'
import type { Usage } from '../../core/plan.js'
import type { Side } from '../../plan/difference/difference.js'
import { dropsText } from '../../plan/difference/headline.js'
import { type PastRequest, type TrafficFacts, TrafficReplay } from '../../plan/difference/traffic.js'
import { CommandError, type Io } from '../io.js'
import { STANDARD_INPUT } from '../loading.js'
import { Heap } from './heap.js'
import { linesOf } from './lines.js'
import { ReplayedLimits } from './past-limits.js'

/** Longer lines are left out. */
const MAX_LINE_CHARS = 256 * 1024
/** Requests that are held until it is known that none of those still to come began before them: lines are in the order of their ends. */
const MAX_HELD = 16_384

/** Decides the served requests of a log again, line by line. `before`: what decided them then, if that is known. */
export async function replay(log: string, side: Side, io: Io, before?: Side): Promise<TrafficFacts> {
  const { accounting } = side.plan
  const limits = accounting === undefined ? undefined : new ReplayedLimits(accounting.timeZone)
  const replay = new TrafficReplay(side, limits, before)
  const held = new Heap<PastRequest>()
  const next = (): void => {
    const request = held.take()
    if (request !== undefined) replay.add(request)
  }
  const input = log === STANDARD_INPUT ? io.stdin : createReadStream(log)
  try {
    for await (const lines of linesOf(input, MAX_LINE_CHARS)) {
      for (const line of lines) {
        const request = requestOf(line)
        if (request === undefined) continue
        if (limits === undefined || request.began === undefined) replay.add(request)
        else held.add(request.began, request)
        if (held.size > MAX_HELD) next()
      }
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    throw new CommandError(`${log} cannot be read (${error.code})`)
  }
  while (held.size > 0) next()
  return replay.facts()
}

/** A line of the log (`"msg":"request"`) or a receipt (`"kind":"request"`) of a request that an upstream was asked for. */
function requestOf(line: string): PastRequest | undefined {
  if (!line.includes('"request"')) return undefined
  const entry = parseJson(line)
  if (!isObject(entry) || entry.mirror_of !== undefined) return undefined
  const { route, key, model, status } = entry
  if (typeof route !== 'string' || typeof status !== 'number' || status >= FIRST_ERROR) return undefined
  const attempts = Array.isArray(entry.attempts) ? entry.attempts.filter(isObject) : []
  const [first] = attempts
  const upstream = first?.upstream ?? entry.upstream
  if (typeof upstream !== 'string') return undefined
  const name = {
    route,
    upstream,
    key: typeof key === 'string' ? key : '',
    model: typeof model === 'string' ? model : '',
    ...(entry.stream === true && { stream: true }),
    ...timesOf(entry),
  }
  if (entry.kind === 'request') {
    const usage = isObject(entry.usage) ? (entry.usage as Usage) : undefined
    const translated = typeof first?.translated === 'string' ? first.translated : ''
    return { ...name, translated, ...(usage && { usage }), ...(typeof entry.cost === 'number' && { cost: entry.cost }) }
  }
  const usage = usageOf(entry)
  const { cost_usd } = entry
  return { ...name, ...(usage && { usage }), ...(typeof cost_usd === 'number' && { cost: cost_usd * MICRO_PER_USD }) }
}

/** A log's `time` and a receipt's `at` are when a request has ended. */
function timesOf({ time, at, total_ms }: Readonly<Record<string, unknown>>): Pick<PastRequest, 'began' | 'ended'> {
  const ended = typeof at === 'number' ? at : Date.parse(String(time))
  if (Number.isNaN(ended)) return {}
  return { began: typeof total_ms === 'number' ? ended - total_ms : ended, ended }
}

const FIRST_ERROR = 400

const COUNTS = {
  input: 'input_tokens',
  output: 'output_tokens',
  total: 'total_tokens',
  cached: 'cached_tokens',
  cacheWrite: 'cache_write_tokens',
  reasoning: 'reasoning_tokens',
  inputAudio: 'input_audio_tokens',
  outputAudio: 'output_audio_tokens',
  seconds: 'audio_seconds',
} as const satisfies Partial<Record<keyof Usage, string>>

function usageOf(entry: Readonly<Record<string, unknown>>): Usage | undefined {
  const counts = Object.entries(COUNTS).flatMap(([name, member]) => {
    const value = entry[member]
    return typeof value === 'number' ? [[name, value] as const] : []
  })
  return counts.length === 0 ? undefined : Object.fromEntries(counts)
}

/** A line for each answer: `31 % move to north`. */
export function trafficText(facts: TrafficFacts): string {
  const { requests, same, moved, refused, full, lossy, drops, cost, unpriced } = facts
  if (requests === 0) return 'the log has no request that an upstream has served'
  const share = (count: number): string => `${Math.round((count / requests) * 1000) / 10} %`
  const lines = (counts: Readonly<Record<string, number>>, say: (name: string) => string): readonly string[] =>
    Object.entries(counts).map(([name, count]) => `${share(count)} ${say(name)} (${count})`)
  const usd = (micro: number): string => (micro / MICRO_PER_USD).toFixed(2)
  const change = cost.before === 0 ? 0 : Math.round((cost.after / cost.before - 1) * 1000) / 10
  return [
    `${requests} requests, ${share(same)} go where they went`,
    ...lines(moved, name => `move to ${name}`),
    ...lines(refused, name => `are refused: ${name}`),
    ...lines(full, name => `find no room and wait, or go to another target: ${name}`),
    ...Object.entries(lossy).map(
      ([pair, count]) =>
        `${share(count)} may lose members by translation ${pair} (${count}): ${dropsText(drops[pair] ?? [])}`,
    ),
    ...(cost.before === 0
      ? []
      : [`cost ${change < 0 ? '' : '+'}${change} %: ${usd(cost.before)} → ${usd(cost.after)} USD`]),
    ...(unpriced === 0 ? [] : [`${unpriced} had a cost, and have no price or usage by which to say it now`]),
  ].join('\n')
}
