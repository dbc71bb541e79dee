import type { Plan } from '../../core/plan.js'
import type { TaskKind } from '../../core/task.js'
import type { View } from './faces/face.js'
import { faceOf } from './faces/index.js'
import type { LinkSigner } from './links.js'
import type { Task } from './record.js'

/** How long a link to something that is still being made holds, milliseconds. */
const HOUR = 3_600_000

/** Where the gateway serves no results of such tasks without a key: the upstream's own addresses are all that there is. */
export const DIRECT: View = {
  link: ({ artifacts }, variant) => artifacts.find(one => one.variant === variant)?.url,
}

/** Records as a client sees them that reaches the gateway at `origin`; `path` is that of the route of signed links. */
export function linkedView(path: SignedPath, signer: LinkSigner, origin: string): View {
  return {
    link: (task, variant) => {
      if (!task.artifacts.some(one => one.variant === variant)) return undefined
      const expires = Math.ceil(lastMoment(task) / 1000)
      const signature = signer.sign(task.owner, { id: task.id, variant, expires })
      const named = variant === usualOf(task.kind) ? '' : `variant=${variant}&`
      return `${origin}${path.start}${task.id}${path.end}?${named}expires=${expires}&signature=${signature}`
    },
  }
}

/** A path around the id of a task. */
export interface SignedPath {
  readonly start: string
  readonly end: string
}

const PATHS = new WeakMap<Plan, Map<TaskKind, SignedPath | undefined>>()

/** The path of the route that answers signed links to results of such tasks. */
export function signedPath(plan: Plan, kind: TaskKind): SignedPath | undefined {
  const known = PATHS.get(plan) ?? new Map<TaskKind, SignedPath | undefined>()
  PATHS.set(plan, known)
  if (!known.has(kind)) known.set(kind, findPath(plan, kind))
  return known.get(kind)
}

function findPath({ routes }: Plan, kind: TaskKind): SignedPath | undefined {
  const route = routes.find(({ task, method }) => task?.kind === kind && task.signed && method === 'GET')
  if (route === undefined) return undefined
  const [start = '', end = ''] = route.id.slice(route.id.indexOf(' ') + 1).split(`{${route.task?.parameter}}`)
  return { start, end }
}

/** What whoever names no variant gets. */
export function usualOf(kind: TaskKind): string {
  const [usual = ''] = faceOf(kind).variants.keys()
  return usual
}

/** As long as the result is kept; the same for hours while there is none, so that the link stays the same. */
function lastMoment({ expires }: Task): number {
  return expires ?? Math.ceil(Date.now() / HOUR + 1) * HOUR
}
