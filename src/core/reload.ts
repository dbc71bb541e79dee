/** How a changed file takes over. */
export interface ReloadConfig {
  /** Absent: at once. */
  readonly canary?: ReloadCanary
  /** Older generations that stay ready. */
  readonly keep: number
}

/** A changed file serves beside the one before, at first. */
export interface ReloadCanary {
  /** Of each key's requests, over 0 and at most 0.9. */
  readonly share: number
  /** Milliseconds. */
  readonly for: number
  readonly backIf: BackIf
}

/** What takes it back. */
export interface BackIf {
  /** So much higher may the share of its requests that fail be: 0.01 is a percentage point. Absent: it is not compared. */
  readonly errors?: number
  /** By so much may the time to its first token be longer: 0.2 is a fifth. Absent: it is not compared. */
  readonly ttft?: number
}
