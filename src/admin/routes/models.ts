import type { CanaryStanding } from '../../features/canaries/index.js'
import type { MirrorStanding } from '../../features/mirrors/index.js'
import { PAGE_QUERY, pageOf, pageOfNames } from '../pages.js'
import { type AdminRoute, COUNT, MOMENT, objectOf, TEXT } from '../route.js'

const TARGET = objectOf({ upstream: TEXT, as: TEXT, weight: { type: 'number' } }, ['upstream'])

/** In this process. */
const MIRROR = objectOf({ to: TEXT, in_flight: COUNT, sent: COUNT, dropped: COUNT }, ['to'])

const OUTCOMES = objectOf({ requests: COUNT, failures: COUNT }, ['requests', 'failures'])
/** In this process, since it began or was tried again. */
const CANARY = objectOf({ to: TEXT, canary: OUTCOMES, others: OUTCOMES, rests_until: MOMENT }, ['to'])

export const models: AdminRoute = {
  method: 'GET',
  path: '/admin/models',
  summary: 'Models of the configuration, in its order.',
  query: PAGE_QUERY,
  status: 200,
  answer: pageOf(
    objectOf({ name: TEXT, targets: { type: 'array', items: TARGET }, mirror: MIRROR, canary: CANARY, off: TEXT }, [
      'name',
      'targets',
    ]),
  ),
  async handle(request, host) {
    const { config, plan } = host
    const { mirrors, canaries } = host.routing()
    return pageOfNames(Object.keys(config.models), request, name => ({
      name,
      targets: (config.models[name]?.targets ?? []).map(({ upstream, as, weight }) => ({ upstream, as, weight })),
      mirror: mirrorOf(mirrors.find(one => one.of === name && one.to === config.models[name]?.mirror?.to)),
      canary: canaryOf(canaries.find(one => one.of === name)),
      off: plan.off.models.get(name),
    }))
  },
}

function mirrorOf(known: MirrorStanding | undefined): object | undefined {
  return known && { to: known.to, in_flight: known.inFlight, sent: known.sent, dropped: known.dropped }
}

function canaryOf(known: CanaryStanding | undefined): object | undefined {
  if (known === undefined) return undefined
  const { to, canary, others, restsUntil } = known
  return { to, canary, others, rests_until: restsUntil === undefined ? undefined : Math.round(restsUntil) }
}
