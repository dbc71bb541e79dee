import { isObject, type JsonObject, parseJson } from '../../core/json.js'
import type { Store, StoredRecord } from '../../core/store.js'
import { stored } from '../responses/faults.js'
import type { Task } from './record.js'

/** Where notifications stand until they are taken, one for each task. */
export const NOTICES = 'task-hooks'

/** A notification that has not been taken yet. */
export interface Notice {
  /** The same for each attempt, so that whoever gets it twice knows. */
  readonly id: string
  readonly task: string
  readonly url: string
  readonly sequence: number
  readonly body: JsonObject
  readonly attempts: number
}

/** How a notification stands, for whoever looks after it. */
export interface NoticeState extends Pick<Notice, 'url' | 'sequence' | 'attempts'> {
  /** `waiting` for its next attempt, or nobody took it and nobody will be asked again. */
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

/** The notification of a task that nobody has taken; undefined where there is none. */
export async function noticeOf(store: Store, { owner, id }: Task): Promise<NoticeState | undefined> {
  const record = await stored(store.get(NOTICES, owner, id))
  const notice = record && decodeNotice(record)
  if (record === undefined || notice === undefined) return undefined
  const { url, sequence, attempts } = notice
  const { due } = record
  return { url, sequence, attempts, ...(due === undefined ? { state: 'given up' } : { state: 'waiting', next: due }) }
}
