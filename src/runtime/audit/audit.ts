import type { Config } from '../../core/config.js'
import { pathText } from '../../core/path-text.js'
import type { Plan } from '../../core/plan.js'
import type { Problem } from '../../core/problems.js'
import type { Feature } from '../../kernel/stages.js'
import { stageNames } from './chains.js'
import { COLUMNS, type Column, type Verdict } from './columns.js'
import { type Subject, subjectsOf } from './subject.js'

/** What the audit found, without its place in a file: an error is a hole, a warning something that may be meant. */
export type Finding = Pick<Problem, 'path' | 'rule' | 'severity' | 'message'>

/** One route in the matrix. */
export interface AuditRow {
  /** Undefined: the paths that no route has. */
  readonly route: string | undefined
  readonly shipped: boolean
  /** One for each column. */
  readonly cells: readonly string[]
}

export interface Audit {
  readonly rows: readonly AuditRow[]
  readonly findings: readonly Finding[]
}

/** A matrix of routes and policies, and its holes, from the plan alone. Nothing is started. */
export async function auditPlan(plan: Plan, config: Config, features?: readonly Feature[]): Promise<Audit> {
  const names = await stageNames(plan, features)
  const judged = [...subjectsOf(plan, config, names)].map(judge)
  return { rows: judged.map(({ row }) => row), findings: judged.flatMap(({ findings }) => findings) }
}

/** Every column's word on one route. */
export function judge(subject: Subject): { readonly row: AuditRow; readonly findings: readonly Finding[] } {
  const { route } = subject
  const verdicts = COLUMNS.map(column => column.judge(subject))
  const path = route === undefined ? '' : pathText(['routes', route.id])
  const row = { route: route?.id, shipped: route?.shipped ?? true, cells: verdicts.map(({ cell }) => cell) }
  return { row, findings: COLUMNS.flatMap((column, at) => findingsOf(column, verdicts[at], path)) }
}

function findingsOf({ name }: Column, verdict: Verdict | undefined, path: string): readonly Finding[] {
  const rule = `audit-${name.replaceAll(/[^a-z_]+/g, '-')}`
  return [
    ...(verdict?.hole === undefined ? [] : [{ path, rule, severity: 'error' as const, message: verdict.hole }]),
    ...(verdict?.gap === undefined ? [] : [{ path, rule, severity: 'warning' as const, message: verdict.gap }]),
  ]
}
