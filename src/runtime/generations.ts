import type { AdminHost } from '../admin/host.js'
import type { LoadedPlan } from './load.js'
import type { PlanSource } from './plan-source.js'

/** What the admin API does with the plans of a gateway. */
export function generationsOf(plans: () => PlanSource): Pick<AdminHost, 'reload' | 'rollback' | 'history'> {
  return {
    reload: async () => outcome(await plans().reload()),
    rollback: async number => {
      const loaded = await plans().rollback(number)
      return loaded && outcome(loaded)
    },
    history: () => plans().history(),
  }
}

function outcome({ plan, problems }: LoadedPlan): Awaited<ReturnType<AdminHost['reload']>> {
  return { isValid: plan !== undefined, problems }
}
