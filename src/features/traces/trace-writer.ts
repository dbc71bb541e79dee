import { ProtobufWriter } from '../../wire/protobuf.js'
import { Clock } from './clock.js'
import { type Span, writeSpan } from './span.js'

/** Where written spans go. */
interface SpanSink {
  add(bytes: Uint8Array, spans: number): void
}

/** Writes spans as they are sent: what waits then has a known size, and holds no request. */
export class TraceWriter {
  readonly clock = new Clock()
  readonly #bytes = new ProtobufWriter()
  /** Undefined: no traces are sent at present. */
  sink: SpanSink | undefined

  write(spans: (clock: Clock) => Iterable<Span>): void {
    if (this.sink === undefined) return
    let count = 0
    try {
      for (const span of spans(this.clock)) {
        writeSpan(this.#bytes, span)
        count++
      }
    } finally {
      // After a fault, what was written is not the start of the next one.
      const bytes = this.#bytes.take()
      if (count > 0) this.sink.add(bytes, count)
    }
  }
}
