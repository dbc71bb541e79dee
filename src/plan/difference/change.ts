import type { Config } from '../../core/config.js'
import type { CompiledPlan } from '../compile.js'

/** One of the two plans that are compared, with what it was compiled from. */
export interface Side {
  readonly plan: CompiledPlan
  readonly config: Config
  /** Where its files are, absolute: paths from there are compared, so that a copy elsewhere says the same. */
  readonly folder?: string
}

/** `weaker`: a policy allows more. `loss`: translation leaves out more. `unreachable`: nothing serves what was served. */
export const MARKS = ['weaker', 'loss', 'unreachable'] as const
export type Mark = (typeof MARKS)[number]

/** What requests of every one of these keys, for every one of these models, on every one of these routes get. */
export interface RequestChange {
  readonly about: 'requests'
  /** `*`: a caller who may do all, where no key of the file stands for such. */
  readonly keys: readonly string[]
  /** Of a glob the glob; `''` on routes whose requests name no model. */
  readonly models: readonly string[]
  readonly routes: readonly string[]
  /** The upstreams in order, or how the request is refused. */
  readonly before: string
  readonly after: string
  /** What differs, a line each: `price of north: input 1.00 → input 2.00`. */
  readonly what: readonly string[]
  /** Members of the client's body that translation leaves out now and did not before. */
  readonly drops?: readonly string[]
  readonly marks: readonly Mark[]
}

/** What something declared says now. */
export interface EntryChange {
  readonly about: 'key' | 'group' | 'upstream' | 'model' | 'route' | 'setting'
  /** All whose change is the same. */
  readonly names: readonly string[]
  /** `budget`, `address`, … */
  readonly what: string
  readonly before: string
  readonly after: string
  readonly marks: readonly Mark[]
}

export type Change = RequestChange | EntryChange

/** How one side would treat something that it does not declare. */
export const ABSENT = 'none'
