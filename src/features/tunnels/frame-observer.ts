import { FrameReader, type FrameSink } from '../../wire/frame-reader.js'
import type { TunnelContext } from './context.js'
import { Messages } from './messages.js'

/** Callbacks for frames. */
interface FrameEvents {
  /** A message of either side begins. */
  message(): void
  /** A close frame was read. Returns false if it must not pass. */
  closed(by: 'client' | 'upstream', code: number, reason: string): boolean
}

/**
 * Reads the frames of a session as they pass. A message that must not pass stops the reader before its frame, and `messages`
 * has the reason.
 */
export class FrameObserver {
  /** What the client sends, and what the upstream sends. */
  readonly up: FrameReader
  readonly down: FrameReader
  readonly messages: Messages

  constructor(context: TunnelContext, events: FrameEvents) {
    const messages = new Messages(context, false)
    this.messages = messages
    this.up = new FrameReader(true, messages.mayNameModel, upSink(messages, events))
    this.down = new FrameReader(false, messages.usage !== undefined, downSink(context, messages, events))
  }
}

function upSink(messages: Messages, events: FrameEvents): FrameSink {
  return {
    begin: () => {
      events.message()
      messages.begin()
    },
    text: (bytes, start, end) => messages.push(bytes, start, end),
    // Some protocols send their JSON in binary messages.
    binary: (bytes, start, end) => messages.push(bytes, start, end),
    end: () => true,
    close: (code, reason) => events.closed('client', code, reason),
  }
}

function downSink({ gated }: TunnelContext, { usage }: Messages, events: FrameEvents): FrameSink {
  const read = (bytes: Buffer, start: number, end: number): boolean => {
    usage?.push(bytes, start, end)
    return true
  }
  return {
    begin: () => {
      events.message()
      usage?.begin()
    },
    text: read,
    binary: read,
    end: () => {
      usage?.end()
      gated.usage = usage?.usage
      return true
    },
    close: (code, reason) => events.closed('upstream', code, reason),
  }
}
