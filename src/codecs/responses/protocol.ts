/** The protocol's name, as routes, upstreams and seals have it. */
export const PROTOCOL = 'responses'
