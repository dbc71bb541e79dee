import { readFile, writeFile } from 'node:fs/promises'
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.js'
import { differences } from '../../runtime/recordings/differences.js'
import { CommandError, EXIT } from '../io.js'
import type { Outcome } from './expectations.js'
import { jsonOrText } from './scripted-upstreams.js'
import type { SnapshotPart } from './test-file.js'

/** The snapshots of a file of tests, in a file beside it: what each test saw when it was last updated. */
export class Snapshots {
  readonly #file: string
  readonly #known: JsonObject
  readonly #seen = new Map<string, Json>()
  readonly #updates: boolean

  private constructor(file: string, known: JsonObject, updates: boolean) {
    this.#file = file
    this.#known = known
    this.#updates = updates
  }

  static async of(testFile: string, updates: boolean): Promise<Snapshots> {
    const file = `${testFile.replace(/\.yaml$/i, '')}.snapshot.json`
    const text = await readFile(file, 'utf8').catch(() => '{}')
    const known = parseJson(text)
    if (!isObject(known) && !updates)
      throw new CommandError(`${file} is not JSON: gateway test --update writes it anew`, EXIT.failed)
    return new Snapshots(file, isObject(known) ? known : {}, updates)
  }

  /** What is not as in the snapshot. */
  faults(title: string, parts: readonly SnapshotPart[], outcome: Outcome): readonly string[] {
    const seen = Object.fromEntries(parts.map(part => [part, partOf(part, outcome)]))
    this.#seen.set(title, seen)
    if (this.#updates) return []
    const known = this.#known[title]
    if (known === undefined) return ['snapshot: there is none; gateway test --update writes it']
    return differences(known, seen).map(found => `snapshot: ${found.replace(', asked ', ', found ')}`)
  }

  /** Writes what was seen; snapshots of tests that are gone go, too. */
  async save(): Promise<void> {
    if (!this.#updates || this.#seen.size === 0) return
    await writeFile(this.#file, `${JSON.stringify(Object.fromEntries(this.#seen), undefined, 2)}\n`)
  }
}

function partOf(part: SnapshotPart, { status, text, line, calls }: Outcome): Json {
  switch (part) {
    case 'status':
      return status
    case 'text':
      return text
    case 'body':
      return jsonOrText(text)
    case 'dropped':
      return line.dropped ?? []
    case 'calls':
      return calls.map(call => call.upstream)
    case 'sent':
      return calls.map(({ upstream, method, path, body }) => ({ upstream, method, path, body }))
  }
}
