import type { JsonObject } from '../core/json.js'
import { type Slot, slot } from './slot.js'

/** Adds to a request's document what it refers to and no check has seen. */
export const SHOWN_DOCUMENT: Slot<(document: JsonObject) => Promise<JsonObject>> = slot('shown document')
