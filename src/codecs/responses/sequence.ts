import type { Frame } from '../../core/codec.js'
import { jsonText } from '../../core/exact-json.js'
import type { JsonObject } from '../../core/json.js'

/** Numbers the events of a stream and writes them as frames. */
export class Sequence {
  #number = 0

  /** `members` without `type` and `sequence_number`. */
  frame(type: string, members: JsonObject): Frame {
    return { event: type, data: jsonText({ type, sequence_number: this.#number++, ...members }) }
  }

  /** The same from JSON text: what is between the number and the closing brace. */
  written(type: string, members: string): Frame {
    return { event: type, data: `{"type":"${type}","sequence_number":${this.#number++},${members}}` }
  }
}
