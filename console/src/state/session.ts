import { computed, signal } from '@preact/signals'
import type { Session } from '../types.js'

/** `none`: no one is signed in; undefined: not known yet. */
export const session = signal<Session | 'none' | undefined>(undefined)

/** Whether this session may change something; the gateway decides, the page explains. */
export const mayChange = computed(
  () => session.value !== undefined && session.value !== 'none' && session.value.role === 'admin',
)
