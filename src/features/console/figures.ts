import { isObject } from '../../core/json.js'

/** Numbers of observations by bin of time; sparse, so that it can be sent to other workers and merged. */
type Bins = Record<string, number>

/** What is counted of one model, upstream or key. */
interface Row {
  requests: number
  failed: number
  tokens: number
  /** Millionths of a USD. */
  micro: number
  /** Of models: time to the first byte; of upstreams: duration of an attempt. */
  times: Bins
}

/** What requests that ended within one time come to. Figures of several times, or of several workers, are added. */
export interface Figures {
  requests: number
  /** By an upstream, or by the gateway. */
  failed: number
  /** Refused by a limit. */
  limited: number
  /** Refused for what the client sent. */
  rejected: number
  input: number
  output: number
  /** Millionths of a USD. */
  micro: number
  /** Time to the first byte of an answer, and time that the gateway itself took. */
  first: Bins
  own: Bins
  errors: Record<string, number>
  models: Record<string, Row>
  upstreams: Record<string, Row>
  keys: Record<string, Row>
  /** Without times. */
  groups: Record<string, Row>
}

/** What is counted by name. */
export type RowKind = 'models' | 'upstreams' | 'keys' | 'groups'
const KINDS: readonly RowKind[] = ['models', 'upstreams', 'keys', 'groups']

/** Most names of a kind; what comes then is counted under {@link OTHER}. */
const MAX_NAMES = 40
export const OTHER = 'other'
/** Each bin is wider than the one before by a tenth of a factor of ten: percentiles are right within 13 %. */
const BINS_PER_DECADE = 20
/** 0.01 ms. */
const LEAST_MS = 0.01

export function noFigures(): Figures {
  return {
    ...{ requests: 0, failed: 0, limited: 0, rejected: 0, input: 0, output: 0, micro: 0 },
    ...{
      first: {},
      own: {},
      errors: byName(),
      models: byName(),
      upstreams: byName(),
      keys: byName(),
      groups: byName(),
    },
  }
}

/** Without a prototype: a model may be called `constructor`. */
function byName<Value>(): Record<string, Value> {
  return Object.create(null)
}

/** Whether a value of the store has this form; a later version may have written another one. */
export function isFigures(value: unknown): value is Figures {
  if (!isObject(value)) return false
  const names = Object.keys(noFigures())
  return names.every(name => (COUNTED.has(name) ? typeof value[name] === 'number' : isObject(value[name])))
}

const SUMS = ['requests', 'failed', 'limited', 'rejected', 'input', 'output', 'micro'] as const
const COUNTED: ReadonlySet<string> = new Set(SUMS)

/** The entry of a name, or the common one where there are too many names. */
export function rowOf(rows: Record<string, Row>, name: string): Row {
  const known = rows[name]
  if (known !== undefined) return known
  const own = Object.keys(rows).length < MAX_NAMES ? name : OTHER
  rows[own] ??= { requests: 0, failed: 0, tokens: 0, micro: 0, times: {} }
  return rows[own]
}

export function observe(bins: Bins, milliseconds: number): void {
  const bin = Math.max(0, Math.ceil(Math.log10(Math.max(milliseconds, LEAST_MS) / LEAST_MS) * BINS_PER_DECADE))
  bins[bin] = (bins[bin] ?? 0) + 1
}

export function addFigures(to: Figures, from: Figures): void {
  for (const name of SUMS) to[name] += from[name]
  addNumbers(to.first, from.first)
  addNumbers(to.own, from.own)
  addNumbers(to.errors, from.errors)
  for (const kind of KINDS) {
    for (const [name, row] of Object.entries(from[kind])) {
      const own = rowOf(to[kind], name)
      for (const figure of ['requests', 'failed', 'tokens', 'micro'] as const) own[figure] += row[figure]
      addNumbers(own.times, row.times)
    }
  }
}

function addNumbers(to: Record<string, number>, from: Record<string, number>): void {
  for (const [name, number] of Object.entries(from)) to[name] = (to[name] ?? 0) + number
}

/** Of these shares, the upper bound of the bin where each is reached, milliseconds; null: nothing was observed. */
export function percentiles(bins: Bins, shares: readonly number[]): readonly (number | null)[] {
  const sorted = Object.entries(bins)
    .map(([bin, count]) => [Number(bin), count] as const)
    .sort(([one], [other]) => one - other)
  const total = sorted.reduce((sum, [, count]) => sum + count, 0)
  return shares.map(share => {
    let left = share * total
    for (const [bin, count] of sorted) {
      left -= count
      if (left <= 1e-9) return Number((LEAST_MS * 10 ** (bin / BINS_PER_DECADE)).toPrecision(3))
    }
    return null
  })
}
