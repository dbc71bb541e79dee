import type { Database } from 'lmdb'
import { checkPlace, checkValue, type Entry, isNamespace, type Ledger } from '../core/store.js'
import { type FileEnvironment, LAST, quietly } from './file-environment.js'

/** Ledgers in the file. */
export class FileLedger implements Ledger {
  readonly #environment: FileEnvironment
  /** By [namespace, sequence]: the length of the owner's name, in one byte, the name, and the value. */
  readonly #entries: Database<Buffer, (string | number)[]>

  constructor(environment: FileEnvironment) {
    this.#environment = environment
    this.#entries = environment.bytes('ledger')
  }

  async append(namespace: string, owner: string, value: Uint8Array): Promise<number> {
    checkPlace({ namespace, owner, key: '-' })
    checkValue(value)
    const bytes = Buffer.concat([Buffer.from([owner.length]), Buffer.from(owner, 'latin1'), value])
    return this.#environment.transaction(() => {
      const [last] = this.#entries.getKeys({ start: [namespace, LAST], end: [namespace], reverse: true, limit: 1 })
      const sequence = 1 + Number(last?.[1] ?? 0)
      quietly(this.#entries.put([namespace, sequence], bytes))
      return sequence
    })
  }

  async entries(
    namespace: string,
    { after = 0, limit }: { readonly after?: number; readonly limit: number },
  ): Promise<readonly Entry[]> {
    this.#environment.checkOpen()
    if (!isNamespace(namespace)) return []
    this.#environment.renew()
    const range = { start: [namespace, after + 1], end: [namespace, LAST], limit }
    return this.#environment
      .read(() => [...this.#entries.getRange(range)])
      .map(({ key, value }) => {
        const begin = 1 + value.readUInt8(0)
        return { sequence: Number(key[1]), owner: value.toString('latin1', 1, begin), value: value.subarray(begin) }
      })
  }
}
