/**
 * An address did not give a configuration that may be used. `refused`: it gave one that is too large or not the declared one;
 * `failed`: it gave none.
 */
export class SourceFault extends Error {
  override readonly name = 'SourceFault'
  readonly kind: 'failed' | 'refused'

  constructor(kind: SourceFault['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}
