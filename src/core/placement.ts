/** Where a credential is in a request. One type reads the caller's key and writes the upstream's. */
export type Placement =
  | { readonly in: 'header'; readonly name: string; readonly scheme?: string }
  | { readonly in: 'query'; readonly name: string }
  | { readonly in: 'subprotocol'; readonly prefix: string }
