"""The cheapest change of the means that changes the answer: for normal rewards, and for other laws."""
