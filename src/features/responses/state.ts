import type { Peers } from '../../core/peers.js'
import type { Store } from '../../core/store.js'
import { type ServiceKey, serviceKey } from '../../kernel/services.js'
import { Background } from './background.js'
import type { StateBounds } from './bounds.js'
import { Compactions } from './compactions.js'
import { Conversations } from './conversations.js'

export const STATE: ServiceKey<State> = serviceKey('state')

/** What is stored of responses between requests. */
export class State {
  readonly conversations: Conversations
  readonly background: Background
  readonly compactions: Compactions

  constructor(store: Store, bounds: StateBounds, onFault: (error: unknown) => void, peers: Peers) {
    this.conversations = new Conversations(store, bounds, undefined, onFault)
    this.background = new Background(this.conversations, peers)
    this.compactions = new Compactions(store)
  }
}
