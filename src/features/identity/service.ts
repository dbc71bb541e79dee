import { type ServiceKey, serviceKey } from '../../kernel/services.js'
import { type Slot, slot } from '../../kernel/slot.js'
import type { Identified, Identities } from './identities.js'

export const IDENTITIES: ServiceKey<Identities> = serviceKey('identities')

/** Who presented a token in place of a key. */
export const IDENTITY: Slot<Identified> = slot('identity')
