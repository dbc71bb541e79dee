/** What becomes of media that clients name by URL, for upstreams that take no URLs. */
export interface MediaConfig {
  /** Absent: nothing is ever fetched. */
  readonly fetch?: MediaFetchConfig
}

/** From where media may be fetched, and how much. */
export interface MediaFetchConfig {
  /** Names (`*.example.com`, `*`), addresses and networks; nothing else is allowed. */
  readonly allow: readonly string[]
  /** Where all of these are; absent: no one knows. */
  readonly region?: string
  /** Whether `http:` is allowed beside `https:`. */
  readonly http: boolean
  readonly ports: readonly number[]
  /** Most bytes of one document. */
  readonly max: number
  /** Most bytes of all documents of one request. */
  readonly total: number
  /** Maximum number of documents of one request. */
  readonly count: number
  /** Milliseconds for one document, with all its redirects. */
  readonly timeout: number
  readonly redirects: number
}
