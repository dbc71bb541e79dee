/** Whose requests are refused first when the process has too much to do. */
export const PRIORITIES = ['low', 'normal', 'high'] as const
export type Priority = (typeof PRIORITIES)[number]

/** When new requests are shed. */
export interface OverloadConfig {
  /** How late the event loop may be, milliseconds. */
  readonly loop_delay: number
  /** How much of its memory the process may use, a share from 0 to 1. */
  readonly memory: number
}
