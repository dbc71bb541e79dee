import type { Config } from '../../core/config.js'
import type { Plan } from '../../core/plan.js'
import type { Io } from '../io.js'

/** What one check found of one thing. */
export interface Result {
  /** A stable name: `tls`, `port`. */
  readonly check: string
  /** What was looked at: an upstream, a file, an address. */
  readonly subject: string
  readonly state: 'ok' | 'warning' | 'fault' | 'skipped'
  readonly found: string
  /** What to do; with every warning and fault. */
  readonly advice?: string
}

export interface Patient {
  readonly config: Config
  readonly plan: Plan
  /** Of the configuration, with its modules, without those that the gateway ships; absolute. */
  readonly files: readonly string[]
  /** Other files that it read: secrets and certificates. */
  readonly secrets: readonly string[]
  readonly io: Io
  readonly options: Options
}

interface Options {
  /** Nothing beyond this machine is asked. */
  readonly offline?: true
  readonly tryCredentials?: true
  /** For each connection, milliseconds. */
  readonly timeoutMs: number
}

/** One group of checks. */
export type Check = (patient: Patient) => Promise<readonly Result[]>

export function ok(check: string, subject: string, found: string): Result {
  return { check, subject, state: 'ok', found }
}

export function skipped(check: string, subject: string, found: string): Result {
  return { check, subject, state: 'skipped', found }
}

export function warning(check: string, subject: string, found: string, advice: string): Result {
  return { check, subject, state: 'warning', found, advice }
}

export function fault(check: string, subject: string, found: string, advice: string): Result {
  return { check, subject, state: 'fault', found, advice }
}

/** `ENOENT`, or the message where there is no code. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  const inner = cause instanceof Error ? cause : error
  const [first] = inner instanceof AggregateError ? (inner.errors as readonly unknown[]) : []
  const said = first instanceof Error ? first : inner
  return 'code' in said && said.message === '' ? String(said.code) : said.message
}
