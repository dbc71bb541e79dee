import { FrameReader, type FrameSink } from '../../wire/frame-reader.js'
import { MessageUsage } from '../../wire/message-usage.js'
import { NamedValues } from '../../wire/named-values.js'
import type { Place } from './attempt.js'
import { modelJudge } from './model-judge.js'

type Models = ConstructorParameters<typeof NamedValues>[0]

/** Who is told of what passes. */
export interface Told {
  /** A message of either side begins. */
  message(): void
  /** A close frame has passed, or is about to. */
  closed(by: 'client' | 'upstream', code: number, reason: string): void
}

/**
 * What the frames of a session say while they pass: what was used, as the upstream's messages tell it, and which models the
 * client's name. A message that names one that this caller may not use stops the reader before that frame.
 */
export class Reading {
  /** What the client sends, and what the upstream sends. */
  readonly up: FrameReader
  readonly down: FrameReader
  /** The model that may not be used, as far as it is known. */
  #refused: string | undefined

  constructor(place: Place, told: Told) {
    const { messages, usage } = place.route.protocol ?? { messages: { model: [], counted: [] }, usage: undefined }
    const counted = usage && messages.counted.length > 0 ? new MessageUsage(messages.counted, usage) : undefined
    this.up = new FrameReader(true, messages.model.length > 0, this.upSink(place, messages.model, told))
    this.down = new FrameReader(false, counted !== undefined, downSink(place, counted, told))
  }

  get refused(): string | undefined {
    return this.#refused
  }

  private upSink({ call, route, exchange }: Place, models: Models, told: Told): FrameSink {
    const judge = modelJudge(call, route, exchange)
    const named = new NamedValues(models, name => {
      if (judge(name)) return true
      this.#refused = name
      return false
    })
    return {
      begin: () => {
        told.message()
        named.begin()
      },
      text: (bytes, start, end) => {
        if (named.push(bytes, start, end)) return true
        this.#refused ??= ''
        return false
      },
      end: () => true,
      close: (code, reason) => told.closed('client', code, reason),
    }
  }
}

function downSink({ call }: Place, counted: MessageUsage | undefined, told: Told): FrameSink {
  return {
    begin: isText => {
      told.message()
      if (isText) counted?.begin()
    },
    text: (bytes, start, end) => {
      counted?.push(bytes, start, end)
      return true
    },
    end: isText => {
      if (isText && counted !== undefined) {
        counted.end()
        call.usage = counted.usage
      }
      return true
    },
    close: (code, reason) => told.closed('upstream', code, reason),
  }
}
