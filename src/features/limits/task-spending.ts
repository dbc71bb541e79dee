import { randomUUID } from 'node:crypto'
import type { Demand } from '../../core/amounts.js'
import type { Price, PriceUnit, Scope } from '../../core/bounds.js'
import { costOf, type Units } from '../../core/cost.js'
import type { Json } from '../../core/json.js'
import type { LedgerRecord } from '../../core/ledger.js'
import { unitsOfPrice } from '../../core/price-fit.js'
import { otherUnits, type Worst } from '../../core/worst.js'
import type { AttemptView } from '../../kernel/stages.js'
import type { TaskEnd } from '../../kernel/task-end.js'
import type { Book } from './book.js'
import { type Claim, claimOf } from './reservation.js'

/** No task runs longer; what it held is free again then, milliseconds. */
const TASK_HELD_MS = 7 * 86_400_000
/** A larger number is a mistake of the upstream. */
const MAX_VIDEO_SECONDS = 86_400

/**
 * What is kept with a task until it ends, in this process or another one: its price when it began, and whose budgets it is
 * charged to. A change of the configuration does not change either.
 */
export interface TaskDebt {
  readonly id: string
  readonly at: number
  readonly cost: number
  readonly units: Units
  /** The request does not say what it takes: the seconds of its video alone, or more, such as tokens that alone have a price. */
  readonly unsaid?: true | 'seconds'
  readonly price: Price | null
  readonly group: string | null
  /** Those with a budget, and nothing but that. */
  readonly scopes: readonly Scope[]
}

type TaskRecord = Omit<LedgerRecord, 'charges'>

/** Keeps with the task that an attempt begins what it will cost if it succeeds. */
export function keepDebt(
  attempt: AttemptView,
  scopes: readonly Scope[],
  { cost, output }: Worst,
  demand: Demand,
): TaskDebt {
  const { call, exchange } = attempt
  const { audioSeconds, likelyAudioSeconds, seconds, saysSeconds } = demand
  const price = exchange.tariff?.price ?? null
  const said = otherUnits({ ...demand, audioSeconds: likelyAudioSeconds }, price ?? undefined, demand.images)
  const isSaid = price === null || isPriced(said, price)
  // What is made has a price by tokens alone, which no upstream of tasks counts: it costs what was reserved for it.
  const units = isSaid ? said : { ...said, input: demand.likelyInput, ...(output > 0 && { output }) }
  const isHeard = price?.audio_second !== undefined && audioSeconds !== likelyAudioSeconds
  const unsaid = !isSaid || isHeard || (seconds > 0 && !saysSeconds && 'seconds')
  const debt: TaskDebt = {
    ...{ id: randomUUID(), at: Date.now(), cost, units, ...(unsaid && { unsaid }), price },
    group: call.caller?.policy?.group ?? null,
    scopes: scopes.flatMap(withBudget),
  }
  attempt.keep('limits', debt as unknown as Json)
  return debt
}

function isPriced(units: Units, price: Price): boolean {
  const priced = unitsOfPrice(price)
  return priced.size === 0 || Object.keys(units).some(unit => priced.has(unit as PriceUnit))
}

function withBudget({ limits, ...holder }: Scope): readonly Scope[] {
  const bounds = limits.bounds.filter(({ unit }) => unit === 'budget')
  const { when_store_fails } = limits
  return bounds.length === 0
    ? []
    : [{ ...holder, limits: { bounds, ...(when_store_fails !== undefined && { when_store_fails }) } }]
}

/** The task runs: its budget stays reserved, in the windows that hold now, also if this process ends. */
export function holdDebt(book: Book, attempt: AttemptView, debt: TaskDebt): Promise<unknown> {
  if (debt.scopes.length === 0) return Promise.resolve()
  const held: TaskDebt = { ...debt, at: Date.now() }
  attempt.keep('limits', held as unknown as Json)
  // If that fails, the task is still charged when it ends.
  return book.hold(held.id, claimsOf(held), held.at + TASK_HELD_MS).catch(() => undefined)
}

/** A task is charged once, when it has succeeded: resolves with its record. One that failed, or was cancelled, is free. */
export async function settleDebt(book: Book, end: TaskEnd): Promise<TaskRecord | undefined> {
  const debt = debtOf(end)
  const isMade = end.state === 'succeeded'
  const used = isMade ? { budget: costOf(debt.units, debt.price ?? undefined) } : {}
  const record = isMade ? recordOf(end, debt, used.budget ?? 0) : undefined
  await book.settleHeld(debt.id, claimsOf(debt), { at: debt.at, used, ...(record !== undefined && { record }) })
  return record
}

/** A video is as long as its upstream says, if it does. */
function debtOf({ kept, fields }: TaskEnd): TaskDebt {
  const debt = kept as unknown as TaskDebt
  const seconds = typeof fields.seconds === 'string' ? Number(fields.seconds) : fields.seconds
  if (debt.units.video_second === undefined || !isLength(seconds)) return debt
  const { unsaid, ...rest } = debt
  const units = { ...debt.units, video_second: seconds }
  return { ...rest, units, ...(unsaid === true && { unsaid }) }
}

function isLength(seconds: Json | undefined): seconds is number {
  return typeof seconds === 'number' && seconds > 0 && seconds <= MAX_VIDEO_SECONDS
}

function claimsOf({ scopes, cost }: TaskDebt): readonly Claim[] {
  return [claimOf(scopes, { budget: cost })]
}

function recordOf(end: TaskEnd, { units, unsaid, price, group }: TaskDebt, cost: number): TaskRecord {
  return {
    id: `task/${end.submit}`,
    at: Date.now(),
    key: end.owner,
    ...(group !== null && { group }),
    model: end.model,
    ...(end.target !== end.model && { target: end.target }),
    upstream: end.upstream,
    route: end.route,
    units,
    cost,
    ...(price === null && { unpriced: true as const }),
    ...(unsaid && { estimated: true as const }),
    outcome: 'ok',
    generation: end.generation,
  }
}
