import type { Presenter, View } from './presenters/presenter.js'
import type { Task } from './record.js'

/** The changed task with a pending notification of the change, if its client asked for one. */
export function withNotification(before: Task, after: Task, now: number, presenter: Presenter, view: View): Task {
  const { hook } = after
  const event = hook === undefined ? undefined : presenter.event(before, after)
  if (hook === undefined || event === undefined) return after
  const sequence = hook.sequence + 1
  const body = presenter.notification(after, event, sequence, now, view)
  return { ...after, hook: { ...hook, sequence, pending: { event, body, at: now } } }
}
