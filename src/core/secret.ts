import { inspect } from 'node:util'

const MASK = '[secret]'

/**
 * A credential in memory. Redaction goes by type: printing, serialising or inspecting a `Secret` shows `[secret]`;
 * only {@link Secret.reveal} yields the value, and it is called where a header is placed and nowhere else.
 */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): typeof MASK {
    return MASK
  }

  toJSON(): typeof MASK {
    return MASK
  }

  [inspect.custom](): typeof MASK {
    return MASK
  }
}
