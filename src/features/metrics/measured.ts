import type { Plan } from '../../core/plan.js'

/** Whether the metrics are seen: by `GET /metrics`, or at a collector. */
export function isMeasured({ admin, telemetry }: Pick<Plan, 'admin' | 'telemetry'>): boolean {
  return admin?.metrics !== undefined || telemetry?.metrics === true
}
