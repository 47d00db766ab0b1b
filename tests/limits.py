"""Limits that tests lower to the few pictures they have: where each stands is known here."""

_COLLECTION, _INDEX = "lookalike.collection", "lookalike.index"
_PAPERS, _PAGES = "lookalike.evaluate.reproduce", "lookalike.service.web.pages"

PLACES = {
    "batch": (
        f"{_COLLECTION}.pictures.adding.BATCH_PICTURES",
        f"{_COLLECTION}.pictures.describing.BATCH_PICTURES",
    ),
    "reduced": (f"{_COLLECTION}.vectors.space.REDUCED",),
    "min_to_reduce": (f"{_COLLECTION}.vectors.space.MIN_TO_REDUCE",),
    "min_to_cache": (f"{_COLLECTION}.vectors.space.MIN_DRIFT",),
    "min_words_to_cache": (f"{_COLLECTION}.ranking.start_words.MIN_DRIFT",),
    "code_neighbours": (f"{_COLLECTION}.training.codes.NEAREST",),
    "min_for_codes": (f"{_COLLECTION}.training.codes.MIN_PICTURES",),
    "min_to_judge": (f"{_COLLECTION}.search.lexicon.MIN_TO_JUDGE",),
    "similar_pictures": (f"{_COLLECTION}.search.suggesting.NEAREST",),
    "many_duplicates": (f"{_COLLECTION}.search.duplicates._MANY",),
    "tag_block": (f"{_COLLECTION}.search.tagging.BLOCK",),
    "kept_queries": (f"{_COLLECTION}.store.queries.MAX_QUERIES",),
    "passing_queries": (f"{_COLLECTION}.store.queries.MAX_PASSING",),
    "max_gamma": (f"{_COLLECTION}.votes.surroundings.MAX_GAMMA",),
    "snapshot_every": (f"{_COLLECTION}.votes.recording.SNAPSHOT_EVERY",),
    "votes_at_once": (f"{_COLLECTION}.votes.spread.AT_ONCE",),
    "max_spread_width": (f"{_COLLECTION}.votes.spread.MAX_WIDTH",),
    "small_index": (f"{_INDEX}.dense._SMALL",),
    "products": (f"{_INDEX}.dense._PRODUCTS",),
    "queries_at_once": (f"{_INDEX}.dense._QUERIES",),
    "gathered": (f"{_INDEX}.dense._GATHERED",),
    "sparse_tail": (f"{_INDEX}.sparse._TAIL",),
    "many_rows": (f"{_INDEX}.checked_rows.MANY",),
    "code_numbers": ("lookalike.codes.base._NUMBERS",),
    "sample_pixels": ("lookalike.features.visterms.SAMPLE_PIXELS",),
    "sample_pictures": ("lookalike.features.visterms.SAMPLE_PICTURES",),
    "sample_blocks": ("lookalike.features.visterms.SAMPLE_BLOCKS",),
    "lego_round": ("lookalike.similarity.lego.ROUND",),
    "max_steps": ("lookalike.similarity.choosing.MAX_STEPS",),
    "max_exact": ("lookalike.similarity.operator.MAX_EXACT",),
    "operator_rows": ("lookalike.similarity.operator.ROWS",),
    "kernel_values": ("lookalike.similarity.kernel_state.MAX_VALUES",),
    "min_in_category": ("lookalike.service.emoji_demo.MIN_IN_CATEGORY",),
    "queries_each": ("lookalike.service.emoji_demo.QUERIES_EACH",),
    "page": (f"{_PAGES}.routes.PAGE", f"{_PAGES}.fragments.PAGE"),
    "warned_pixels": ("PIL.Image.MAX_IMAGE_PIXELS",),
    "model_seconds": ("lookalike.features.onnx_model.MAX_SECONDS",),
    "qah_queries": (f"{_PAPERS}.qah.BLOCK",),
    "visterm_dimension": (f"{_PAPERS}.vectors.DIMENSION",),
    "oasis_table_steps": (f"{_PAPERS}.oasis_tables.STEPS",),
    "oasis_steps": (f"{_PAPERS}.oasis.QUICK_STEPS",),
    "oasis_positive_steps": (f"{_PAPERS}.oasis.QUICK_POSITIVE_STEPS",),
    "omks_views": (f"{_PAPERS}.omks_views.PAPER",),
    "omks_ratios": (f"{_PAPERS}.omks.QUICK_RATIOS",),
    "wsabie_plan": (f"{_PAPERS}.wsabie_methods.QUICK",),
}


def set_limits(patch, **limits):
    """Set limits by their names, until the patch is undone."""
    for name, value in limits.items():
        for place in PLACES[name]:
            patch.setattr(place, value)
