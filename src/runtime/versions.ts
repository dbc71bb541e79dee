/** A text of the configuration file that has served. */
export interface Version {
  /** Of the plan. */
  readonly generation: number
  /** When it began to serve, milliseconds since the epoch. */
  readonly at: number
  readonly origin: 'start' | 'reload' | 'console'
  readonly text: string
}

/** Texts that are kept, and characters of all of them together; the latest one is always kept. */
const MAX_VERSIONS = 50
const MAX_CHARS = 8 * 1024 * 1024

/** The latest texts of the configuration file, newest first. */
export class Versions {
  #all: readonly Version[] = []

  get all(): readonly Version[] {
    return this.#all
  }

  of(generation: number): Version | undefined {
    return this.#all.find(one => one.generation === generation)
  }

  add(version: Version): void {
    let left = MAX_CHARS
    this.#all = [version, ...this.#all].slice(0, MAX_VERSIONS).filter(({ text }, at) => {
      left -= text.length
      return at === 0 || left >= 0
    })
  }
}
