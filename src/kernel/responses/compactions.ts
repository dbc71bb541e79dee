import { GatewayError } from '../../core/errors.js'
import type { Store } from '../../core/store.js'
import { SealedBox } from '../sealed-box.js'
import { type Item, typeOf } from './items.js'

/** Begins the sealed content of every compaction item that the gateway made. */
const HEAD = 'gwc1.'
const MARK = Buffer.from(HEAD)
/** What the protocol, and clients before it was settled, call an item that stands for earlier ones. */
const TYPES = new Set(['compaction', 'compaction_summary', 'context_compaction'])

/** Stands before the summary where a model reads it. */
const INTRODUCTION = 'The conversation so far was too long and has been replaced by this summary of it:'

/** Gives what upstreams get in an item's place: of a compaction item of ours, the summary in it. */
export type OpenItem = (item: Item, index: number) => Item

/** Seals summaries of conversations so that they can be read by the gateway alone, and used by the key that had them made. */
export class Compactions {
  readonly #box: SealedBox

  constructor(store: Store) {
    this.#box = new SealedBox(store, 'compactions')
  }

  /** The `encrypted_content` of a compaction item (AES-256-GCM). Throws `unavailable` where the store does not answer. */
  async seal(owner: string, summary: string): Promise<string> {
    return HEAD + (await this.#box.sealer()).seal(Buffer.from(summary), boundTo(owner))
  }

  /**
   * Opens the owner's compaction items; any other item stays as it is. The function throws `invalid_parameter` for an item
   * that was made for another owner, or changed.
   */
  async opener(owner: string): Promise<OpenItem> {
    const sealer = await this.#box.sealer()
    return (item, index) => {
      if (!isCompaction(item)) return item
      const summary = sealer.open(item.encrypted_content.slice(HEAD.length), boundTo(owner))
      if (summary === undefined) throw notTheirs(index)
      return {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: `${INTRODUCTION}\n\n${summary.toString('utf8')}` }],
      }
    }
  }
}

/** Whether JSON may hold a compaction item of ours: the beginning of one, however it is escaped. */
export function mayHoldCompaction(json: Buffer): boolean {
  return json.includes(MARK) || (json.includes('\\u') && json.includes('compaction'))
}

/** Whether an item is one of ours. */
export function isCompaction(item: Item): item is Item & { readonly encrypted_content: string } {
  const { encrypted_content: content } = item
  return typeof content === 'string' && content.startsWith(HEAD) && TYPES.has(typeOf(item))
}

function boundTo(owner: string): string {
  return `compaction\n${owner}`
}

function notTheirs(index: number): GatewayError {
  const param = `input[${index}].encrypted_content`
  const message = `'${param}' could not be opened: it was changed, or belongs to another key.`
  return new GatewayError('invalid_parameter', message, { param, familyCode: 'invalid_encrypted_content' })
}
