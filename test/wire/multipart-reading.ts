import { type MultipartEvent, MultipartReader } from '../../src/wire/multipart.js'
import { MultipartForm } from '../../src/wire/multipart-form.js'
import { MultipartError } from '../../src/wire/multipart-problems.js'
import { LIMITS } from './multipart-cases.js'

export interface Reading {
  /** Neighbouring events of one content put together. */
  readonly events: readonly MultipartEvent[]
  readonly error: MultipartError | undefined
}

interface Reads {
  push(chunk: Uint8Array): readonly MultipartEvent[]
  end(): readonly MultipartEvent[]
}

/** What a reader makes of a body that comes in these chunks. Fails where it throws anything but its own error. */
export function read(reader: Reads, chunks: readonly Uint8Array[]): Reading {
  const events: MultipartEvent[] = []
  const take = (some: readonly MultipartEvent[]): void => {
    for (const event of some) {
      const last = events.at(-1)
      const goesOn = last?.type === event.type && last.type !== 'part' && last.type !== 'part-end'
      if (goesOn) events[events.length - 1] = { ...last, bytes: Buffer.concat([last.bytes, event.bytes]) }
      else events.push(event)
    }
  }
  try {
    for (const chunk of chunks) take(reader.push(chunk))
    take(reader.end())
    return { events, error: undefined }
  } catch (error) {
    if (!(error instanceof MultipartError)) throw error
    return { events, error }
  }
}

export function newReader(boundary = 'B'): MultipartReader {
  return new MultipartReader(boundary, LIMITS)
}

export function newForm(boundary = 'B'): MultipartForm {
  return new MultipartForm(boundary, { control: ['model', 'stream'], limits: LIMITS })
}

/** All that a reading says, as text that can be compared. */
export function summary({ events, error }: Reading): string {
  const said = events.map(event => ({ ...event, bytes: event.bytes.toString('latin1') }))
  return JSON.stringify([said, error?.rule, error?.message])
}

/** The bytes of all events. */
export function emitted(events: readonly MultipartEvent[]): Buffer {
  return Buffer.concat(events.map(({ bytes }) => bytes))
}
