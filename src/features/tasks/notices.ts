import { isObject, type JsonObject, parseJson } from '../../core/json.js'
import type { Store, StoredRecord } from '../../core/store.js'
import type { TraceMark } from '../../core/trace.js'
import { stored } from '../../kernel/stored.js'
import type { Task } from './record.js'

/** Namespace of undelivered notifications, one per task. */
export const NOTICES = 'task-hooks'

/** An undelivered notification. */
export interface Notice {
  /** The same for each attempt, so that the receiver recognizes a repetition. */
  readonly id: string
  readonly task: string
  /** The task's upstream, whose egress it uses; absent in notifications of former versions. */
  readonly upstream?: string
  readonly url: string
  readonly sequence: number
  readonly body: JsonObject
  readonly attempts: number
  /** Of the request that began the task. */
  readonly trace?: TraceMark
}

/** The state of a notification, as operators see it. */
export interface NoticeState extends Pick<Notice, 'url' | 'sequence' | 'attempts'> {
  /** `waiting` for its next attempt, or `given up`. */
  readonly state: 'waiting' | 'given up'
  /** Milliseconds since the epoch. */
  readonly next?: number
}

export function encodeNotice(notice: Notice): Buffer {
  return Buffer.from(JSON.stringify(notice))
}

export function decodeNotice({ value }: StoredRecord): Notice | undefined {
  const notice = parseJson(Buffer.from(value).toString('utf8')) as unknown as Notice | undefined
  return isObject(notice) ? notice : undefined
}

/** The undelivered notification of a task; undefined if there is none. */
export async function noticeOf(store: Store, { owner, id }: Task): Promise<NoticeState | undefined> {
  const record = await stored(store.get(NOTICES, owner, id))
  const notice = record && decodeNotice(record)
  if (record === undefined || notice === undefined) return undefined
  const { url, sequence, attempts } = notice
  const { due } = record
  return { url, sequence, attempts, ...(due === undefined ? { state: 'given up' } : { state: 'waiting', next: due }) }
}
