"""Speech of the stock bots that needs no network and no weights. Bot processes only."""
