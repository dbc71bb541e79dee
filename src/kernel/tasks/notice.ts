import type { Face, View } from './faces/face.js'
import type { Task } from './record.js'

/** The changed task, with what is to be told of the change in it, where somebody wants to be told. */
export function noticed(before: Task, after: Task, now: number, face: Face, view: View): Task {
  const { hook } = after
  const event = hook === undefined ? undefined : face.event(before, after)
  if (hook === undefined || event === undefined) return after
  const sequence = hook.sequence + 1
  const body = face.notification(after, event, sequence, now, view)
  return { ...after, hook: { ...hook, sequence, pending: { event, body, at: now } } }
}
