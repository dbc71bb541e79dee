/**
 * Resources that an upstream keeps for callers: files, batches, uploads that continue over several requests. Each belongs
 * to the key that created it, and every request that names it goes to the upstream that keeps it.
 */

/** What a route does with a resource. After `read` and `update` the answer is the resource, after `use` it is not. */
export type ResourceAction = 'create' | 'read' | 'update' | 'use' | 'delete' | 'list'

/** A path of member names from the top of a JSON document; in requests `*` is every element or member. */
export type ResourcePath = readonly string[]

/** One kind of them, as declared under `resource_kinds`. */
export interface ResourceKind {
  readonly name: string
  /** How errors call such a resource: `file`. */
  readonly title: string
  /** Where an object says its id. */
  readonly id: ResourcePath
  /** The prefix of ids: `files/`. Empty if there is none. */
  readonly prefix: string
  /** The member that an answer may wrap the object in. */
  readonly wrapped: string | undefined
  /** Where an object says when it ends: seconds since the epoch, or RFC 3339. */
  readonly expires: ResourcePath | undefined
  /** Ids of resources that are created with it. */
  readonly produces: readonly { readonly kind: ResourceKind; readonly path: ResourcePath }[]
  /** Members of an object that hold addresses at its upstream, and the path here that clients get in their place. */
  readonly links: readonly ResourceLink[]
  readonly list: ResourceList
}

interface ResourceLink {
  readonly path: ResourcePath
  /** `{id}` stands for the id of the object. */
  readonly target: string
}

/** How a list of them is written, and cut into pages. */
export interface ResourceList {
  /**
   * `ids`: `{object: "list", data, first_id, last_id, has_more}`, on from `after`; `cursors`: the same with `next_page` for
   * `object`, on from `after_id` or `page`, or back from `before_id`; `tokens`: `{<member>, nextPageToken}`.
   */
  readonly pages: 'ids' | 'cursors' | 'tokens'
  readonly member: string
  /** Objects of a page if the client does not say, and at most. */
  readonly pageSize: number
  readonly maxPageSize: number
  /** Parameters of the query that a member of that name has to equal. */
  readonly filter: readonly string[]
}

/** What a route does with resources of one kind. */
export interface ResourceRule {
  readonly action: ResourceAction
  readonly kind: ResourceKind
  /** The parameter of the path that names one; none on routes that create or list them. */
  readonly parameter: string | undefined
}

/** Where requests of a route may name resources. */
export interface ResourceReference {
  readonly kind: ResourceKind
  readonly path: ResourcePath
}

/** An upload in several requests, at an address that the upstream gives. */
export interface ResumableUpload {
  /** The header of the answer with the address; lower case. */
  readonly header: string
  /** The query parameter in which the address here names the upload. */
  readonly parameter: string
}

/** Where a request may name a model whose upstream is to keep the resource that it creates. */
export interface ModelHint {
  readonly from: 'query' | 'header'
  /** Lower case for headers. */
  readonly name: string
}

/** A request that holds requests of another route, each with a model of its own. */
export interface BatchRule {
  /** The key of that route: `POST /v1/messages`. */
  readonly of: string
  /** The member of the body that lists them. */
  readonly list: string
  /** The member of each of its elements that is the request, and the one by which results name it. */
  readonly request: string
  readonly id: string
}

/** Where a line of results names its request, and the model that answered. */
export interface ResultRule {
  readonly id: ResourcePath
  readonly model: ResourcePath
}
