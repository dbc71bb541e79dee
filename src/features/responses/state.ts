import type { Peers } from '../../core/peers.js'
import type { Store } from '../../core/store.js'
import { BatchNames } from '../batches/result-names.js'
import { ClientSecrets } from '../client-secrets/client-secrets.js'
import { Completions } from '../completions/completions.js'
import { OwnershipStore } from '../resources/ownership-store.js'
import { Background } from './background.js'
import type { StateBounds } from './bounds.js'
import { Compactions } from './compactions.js'
import { Conversations } from './conversations.js'
import { ReasoningCache } from './reasoning-cache.js'

/** What the gateway stores between requests. */
export class State {
  readonly conversations: Conversations
  readonly background: Background
  readonly clientSecrets: ClientSecrets
  readonly completions: Completions
  readonly compactions: Compactions
  readonly reasoningCache: ReasoningCache
  readonly ownership: OwnershipStore
  readonly batchNames: BatchNames

  constructor(store: Store, bounds: StateBounds, onFault: (error: unknown) => void, peers: Peers) {
    this.conversations = new Conversations(store, bounds, undefined, onFault)
    this.background = new Background(this.conversations, peers)
    this.completions = new Completions(store, bounds, onFault)
    this.clientSecrets = new ClientSecrets(store)
    this.compactions = new Compactions(store)
    this.reasoningCache = new ReasoningCache(store)
    this.ownership = new OwnershipStore(store)
    this.batchNames = new BatchNames(store)
  }

  /** Resolves when no write is under way. */
  async settled(): Promise<void> {
    await this.conversations.settled()
    await this.completions.settled()
  }
}
