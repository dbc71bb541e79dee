import type { SessionObserver } from '../../net/pools.js'
import { FrameReader, type FrameSink } from '../../wire/frame-reader.js'
import type { SessionContext } from './context.js'
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

  constructor(context: SessionContext, events: FrameEvents) {
    const messages = new Messages(context, false)
    const { observer } = context
    this.messages = messages
    this.up = new FrameReader(true, messages.mayNameModel || observer !== undefined, upSink(messages, events, observer))
    const readsDown = messages.usage !== undefined || observer !== undefined
    this.down = new FrameReader(false, readsDown, downSink(context, messages, events))
  }
}

function upSink(messages: Messages, events: FrameEvents, observer: SessionObserver | undefined): FrameSink {
  const read = (bytes: Buffer, start: number, end: number): boolean => {
    if (messages.mayNameModel && !messages.push(bytes, start, end)) return false
    observer?.onPiece('client', bytes.subarray(start, end))
    return true
  }
  return {
    begin: () => {
      events.message()
      messages.begin()
    },
    text: read,
    // Some protocols send their JSON in binary messages.
    binary: read,
    end: isText => {
      observer?.onMessage('client', isText)
      return true
    },
    close: (code, reason) => events.closed('client', code, reason),
  }
}

function downSink({ gated, observer }: SessionContext, { usage }: Messages, events: FrameEvents): FrameSink {
  const read = (bytes: Buffer, start: number, end: number): boolean => {
    usage?.push(bytes, start, end)
    observer?.onPiece('upstream', bytes.subarray(start, end))
    return true
  }
  return {
    begin: () => {
      events.message()
      usage?.begin()
    },
    text: read,
    binary: read,
    end: isText => {
      usage?.end()
      gated.usage = usage?.usage
      observer?.onMessage('upstream', isText)
      return true
    },
    close: (code, reason) => events.closed('upstream', code, reason),
  }
}
