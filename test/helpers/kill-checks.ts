import { inTime } from './journal.js'
import type { KillStage } from './kill-stage.js'

/** How the gateway tells of a film. */
export interface Film {
  readonly id: string
  readonly status: string
  readonly prompt: string
  readonly error: { readonly code: string } | null
}

/** The states of films and images that have ended. */
export const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'SUCCESS', 'FAILURE'])

/** All films that the gateway knows. */
export async function listed({ ask }: KillStage): Promise<readonly Film[]> {
  const films: Film[] = []
  for (let after = ''; ; ) {
    const answer = await ask('GET', `/v1/videos?limit=100${after}`)
    const page = (await answer?.json()) as { data: Film[]; has_more: boolean; last_id: string }
    films.push(...page.data)
    if (!page.has_more) return films
    after = `&after=${page.last_id}`
  }
}

/** All films, once none of them continues, but for those. */
export async function ends(
  stage: KillStage,
  but: ReadonlySet<string | undefined> = new Set(),
): Promise<readonly Film[]> {
  const open = (await listed(stage)).filter(({ id, status }) => !ENDED.has(status) && !but.has(id))
  for (const { id } of open) {
    const ended = new RegExp(`"task":"${id}"[^\\n]*"to":"(succeeded|failed|withdrawn)"`)
    await inTime(stage.lives.says(ended), () => `${id} never ended`)
  }
  return await listed(stage)
}

/** No one knows whether its upstream took it. */
export function isUnconfirmed({ status, error }: Film): boolean {
  return status === 'failed' && error?.code === 'submit_unconfirmed'
}

/** Tasks that ended more than once, or whose clients heard of different ends. */
export function settledTwice({ lives, told }: KillStage): readonly string[] {
  const ends = lives.changes.filter(({ to }) => to === 'succeeded' || to === 'failed' || to === 'cancelled')
  const twice = ends.filter(({ task }, at) => ends.findIndex(other => other.task === task) !== at)
  const notices = told.items
  const bodies = new Map(notices.map(({ id, body }) => [id, body]))
  const changed = notices.filter(({ id, body }) => bodies.get(id) !== body)
  const last = new Map(notices.filter(({ status }) => ENDED.has(status)).map(({ name, id }) => [name, id]))
  const renumbered = notices.filter(({ name, id, status }) => ENDED.has(status) && last.get(name) !== id)
  return [
    ...twice.map(({ task, to }) => `${task} ${to} again`),
    ...changed.map(({ id }) => `${id} says two things`),
    ...renumbered.map(({ id, name }) => `${name} ended by ${id} and ${last.get(name)}`),
  ]
}
