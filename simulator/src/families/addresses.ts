/** Whether an address has a reserved name that no one can find (RFC 6761): the simulator fetches nothing, and says of these that it could not. */
export function isNowhere(address: string): boolean {
  return /^https?:\/\/[^/?#]*\.invalid(?:[:/?#]|$)/i.test(address)
}
