import type { Plan } from '../../core/plan.js'
import type { TaskKind } from '../../core/task-kind.js'
import type { LinkSigner } from '../links/signer.js'
import type { View } from './presenters/presenter.js'
import type { Task } from './record.js'

/** How long a link is valid while there is no result, milliseconds. */
const HOUR_MS = 3_600_000

/** Without a route for signed links: records show the upstream's own addresses. */
export const DIRECT: View = {
  link: ({ artifacts }, variant) => artifacts.find(one => one.variant === variant)?.url,
  result: ({ artifacts }) => artifacts[0]?.url,
}

/** The view for a client that reaches the gateway at `origin`; `path` is that of the route for signed links. */
export function linkedView(path: SignedPath, signer: LinkSigner, origin: string): View {
  const signed = (task: Task, variant: string): string => {
    const expires = Math.ceil(lastMoment(task) / 1000)
    const signature = signer.sign(task.owner, { id: task.id, variant, expires })
    const named = variant === path.usual ? '' : `variant=${variant}&`
    return `${origin}${path.start}${task.id}${path.end}?${named}expires=${expires}&signature=${signature}`
  }
  return {
    link: (task, variant) => (task.artifacts.some(one => one.variant === variant) ? signed(task, variant) : undefined),
    result: task => signed(task, path.usual),
  }
}

/** A path before and after a task's id, and its default variant. */
interface SignedPath {
  readonly usual: string
  readonly start: string
  readonly end: string
}

const PATHS = new WeakMap<Plan, Map<string, SignedPath | undefined>>()

/** The path of the route that serves signed links to a kind's results. */
export function signedPath(plan: Plan, kind: string): SignedPath | undefined {
  const known = PATHS.get(plan) ?? new Map<string, SignedPath | undefined>()
  PATHS.set(plan, known)
  if (!known.has(kind)) known.set(kind, findPath(plan, kind))
  return known.get(kind)
}

function findPath({ routes }: Plan, kind: string): SignedPath | undefined {
  const route = routes.find(({ task, method }) => task?.kind.name === kind && task.signed && method === 'GET')
  if (route === undefined) return undefined
  const [start = '', end = ''] = route.id.slice(route.id.indexOf(' ') + 1).split(`{${route.task?.parameter}}`)
  return { start, end, usual: defaultVariantOf(route.task?.kind) }
}

/** The variant for requests that name none. */
export function defaultVariantOf(kind: TaskKind | undefined): string {
  const [usual = ''] = kind?.variants.keys() ?? []
  return usual
}

/** Until when a link is valid: as long as the result is kept. Without a result, rounded to hours: the link stays the same. */
function lastMoment({ expires }: Task): number {
  return expires ?? Math.ceil(Date.now() / HOUR_MS + 1) * HOUR_MS
}
