import { GatewayError } from '../../core/errors.js'
import type { Store } from '../../core/store.js'
import { SealedBox } from '../../kernel/sealed-box.js'
import { type Item, typeOf } from './items.js'

/** Prefix of the sealed content of the gateway's compaction items. */
const HEAD = 'gwc1.'
const MARK = Buffer.from(HEAD)
/** The types of compaction items in the protocol, and in clients from before it was settled. */
const TYPES = new Set(['compaction', 'compaction_summary', 'context_compaction'])

/** Precedes the summary in the message that the model reads. */
const INTRODUCTION = 'The conversation so far was too long and has been replaced by this summary of it:'

/** Returns the item for upstreams: for a compaction item of the gateway, its summary. */
export type OpenItem = (item: Item, index: number) => Item

/** Seals summaries of conversations: only the gateway can read them, and only for the key that had them made. */
export class Compactions {
  readonly #box: SealedBox

  constructor(store: Store) {
    this.#box = new SealedBox(store, 'compactions')
  }

  /** The `encrypted_content` of a compaction item (AES-256-GCM). Throws `unavailable` if the store does not answer. */
  async seal(owner: string, summary: string): Promise<string> {
    return HEAD + (await this.#box.sealer()).seal(Buffer.from(summary), boundTo(owner))
  }

  /**
   * Opens the owner's compaction items; other items are returned unchanged. The function throws `invalid_parameter` for an
   * item that was made for another owner, or changed.
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

/** Whether JSON may contain a compaction item of the gateway: its prefix, or an escaped form of its type. */
export function mayHoldCompaction(json: Buffer): boolean {
  return json.includes(MARK) || (json.includes('\\u') && json.includes('compaction'))
}

/** Whether the gateway made this compaction item. */
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
