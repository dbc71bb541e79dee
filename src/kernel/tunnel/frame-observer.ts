import { FrameReader, type FrameSink } from '../../wire/frame-reader.js'
import type { TunnelContext } from './context.js'
import { Messages } from './messages.js'

/** Who is told of what passes. */
export interface Told {
  /** A message of either side begins. */
  message(): void
  /** A close frame has come; false where it may not pass. */
  closed(by: 'client' | 'upstream', code: number, reason: string): boolean
}

/**
 * Reads the frames of a session while they pass. A message that may not pass stops the reader before that frame, and
 * `messages` knows why.
 */
export class Reading {
  /** What the client sends, and what the upstream sends. */
  readonly up: FrameReader
  readonly down: FrameReader
  readonly messages: Messages

  constructor(place: TunnelContext, told: Told) {
    const messages = new Messages(place, false)
    this.messages = messages
    this.up = new FrameReader(true, messages.mayNameModel, upSink(messages, told))
    this.down = new FrameReader(false, messages.usage !== undefined, downSink(place, messages, told))
  }
}

function upSink(messages: Messages, told: Told): FrameSink {
  return {
    begin: () => {
      told.message()
      messages.begin()
    },
    text: (bytes, start, end) => messages.push(bytes, start, end),
    // Some protocols write their JSON into binary messages.
    binary: (bytes, start, end) => messages.push(bytes, start, end),
    end: () => true,
    close: (code, reason) => told.closed('client', code, reason),
  }
}

function downSink({ call }: TunnelContext, { usage }: Messages, told: Told): FrameSink {
  const read = (bytes: Buffer, start: number, end: number): boolean => {
    usage?.push(bytes, start, end)
    return true
  }
  return {
    begin: () => {
      told.message()
      usage?.begin()
    },
    text: read,
    binary: read,
    end: () => {
      usage?.end()
      call.usage = usage?.usage
      return true
    },
    close: (code, reason) => told.closed('upstream', code, reason),
  }
}
